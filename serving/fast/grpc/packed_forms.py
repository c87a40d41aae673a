"""Requests that end with the numbers of their only tensor, recognised by their prefix.

A client sends the same message repeatedly with other numbers at its end. Protobuf is read from the
first byte to the last: if the prefix and the length equal those of a parsed message, everything
except the numbers is equal too. Replies are made the same way: the bytes around their numbers are
found by encoding two messages that differ only in these.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.serving.messages.counting import last_part
from pinnace.serving.messages.fields import refusal
from pinnace.serving.requests.reply import Reply
from pinnace.serving.requests.request import Request
from pinnace.serving.requests.wires import Decoded
from pinnace.serving.running.packed_rows import PackedRows, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.serving.grpc.methods import Quick, Take
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.models.tables import Which
    from pinnace.serving.requests.exchange import Exchange
    from pinnace.serving.requests.wires import Wire
    from pinnace.serving.running.packed_rows import RowKind
    from pinnace.serving.running.signatures import Array, Arrays

_MAX_BYTES = 2**20  # larger requests are read in threads
_MAX_HEAD_BYTES = 4096
_MAX_FORMS = 256
_MAX_AROUND = 64
_PATIENCE = 64  # forms that may be learned without any of them being seen again
# Every byte differs, and as varints they are lists of different lengths.
_PATTERNS = (b"\xc1", b"\x3e")


class Reading(NamedTuple):
    """The parsed content of a message.

    Attributes:
        which: the requested version.
        rest: everything except the tensor, for comparison.
        name: the only input's name.
        dtype: its elements' dtype in the message.
        shape: its shape.
        raw: its elements.
    """

    which: Which
    rest: object
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    raw: bytes


class Reader(NamedTuple):
    """The parser of messages of one kind.

    Attributes:
        read: parses a message, given where its last field begins, and that field's number; None if
            it is not of one tensor of numbers, or invalid.
        tails: the numbers of the nested fields that lead to those bytes, for each form.
        wire: the full parser of the same message.
        api: its name in metrics.
        refuse: makes the reply for an error.
    """

    read: Callable[[bytes, int, int], Reading | None]
    tails: frozenset[tuple[int, ...]]
    wire: Callable[[bytes], Wire]
    api: str
    refuse: Callable[[BaseException], Reply] = refusal


class PackedForm:
    """All messages with one prefix and one length, as a wire.

    Args:
        reader: the parser of such messages.
        head: their common prefix.
        reading: the content of one of them.
    """

    entrypoint = "GRPC"

    __slots__ = ("_dtype", "_name", "_reader", "_shape", "api", "head", "request", "which")

    def __init__(self, reader: Reader, head: bytes, reading: Reading) -> None:
        self._reader = reader
        self._name = reading.name
        self._dtype = reading.dtype
        self._shape = reading.shape
        self.api = reader.api
        self.head = head
        self.which = reading.which
        self.request: Request | None = None  # the last request

    def decode(self, servable: Servable, body: bytes, headers: Mapping[bytes, bytes]) -> Decoded:
        """Return the request that the message holds.

        Raises:
            OpError: the version cannot answer it.
        """
        known = servable.remembered.get(self)
        if known is None:
            decoded = self._reader.wire(body).decode(servable, body, headers)
            known = _Known(servable, decoded, self._name, self._dtype, self._shape)
            servable.remember(self, known)
            return decoded
        if known.kind is None:
            return self._reader.wire(body).decode(servable, body, headers)
        feeds = PackedRows(known.kind, body[len(self.head) :], self._shape[0])
        return Decoded(known.signature_name, feeds, known.encode, known.encode)

    def is_quick(self, servable: Servable, _: bytes, __: Mapping[bytes, bytes], ___: int) -> bool:
        """Whether the version accepts rows of this form without conversion."""
        known = servable.remembered.get(self)
        return known is not None and known.kind is not None

    def refuse(self, error: BaseException) -> Reply:
        """Return the reply for an error."""
        return self._reader.refuse(error)


class PackedForms:
    """The forms of messages seen so far.

    Args:
        reader: the parser of the messages.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._forms: dict[int, list[PackedForm]] = {}  # by length
        self._count = 0
        self._patience = _PATIENCE
        self._missed = 0

    def find(self, data: bytes) -> PackedForm | None:
        """Return the form of a message; None if it must be parsed."""
        for form in self._forms.get(len(data), ()):
            if data.startswith(form.head):
                if self._patience < _PATIENCE:
                    self._patience += 1
                return form
        if len(data) > _MAX_BYTES or sys.byteorder != "little":
            return None
        # A client whose messages all begin differently is not learned from each time.
        self._missed += 1
        if self._patience <= 0 and self._missed % 16:
            return None
        self._patience -= 1
        return self._learn(data)

    def _learn(self, data: bytes) -> PackedForm | None:
        # The event loop does this work, so that only short prefixes are learned.
        path, begin = last_part(data, self._reader.tails)
        if not path or not 0 < begin <= min(_MAX_HEAD_BYTES, len(data) - 1):
            return None
        read = self._reader.read
        reading = read(data, begin, path[-1])
        if reading is None or not reading.shape or len(reading.raw) != len(data) - begin:
            return None
        head = data[:begin]
        # With other numbers at its end it must be the same message except for these numbers.
        for pattern in _PATTERNS:
            tail = pattern * len(reading.raw)
            if read(head + tail, begin, path[-1]) != reading._replace(raw=tail):
                return None
        if self._count >= _MAX_FORMS:
            self._forms.clear()
            self._count = 0
        form = PackedForm(self._reader, head, reading)
        self._forms.setdefault(len(data), []).append(form)
        self._count += 1
        return form


class _Known:
    """The facts that follow from a form for one version.

    Attributes:
        kind: the kind of its rows; None if the version takes no such rows, or the form is parsed.
        signature_name: the signature to run.
        encode: makes the replies.
    """

    __slots__ = ("encode", "kind", "signature_name")

    def __init__(
        self,
        servable: Servable,
        decoded: Decoded,
        name: str,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
    ) -> None:
        self.signature_name = decoded.signature_name
        self.encode = RowReplies(decoded.encode)
        self.kind: RowKind | None = None
        if decoded.sequence is not None:  # a sequence's requests run in order, not joined
            return
        if shape[0] > 0 and decoded.signature_name in servable.signatures:
            signature = servable.signatures[decoded.signature_name]
            self.kind = kind_of(signature, name, dtype, shape[1:])


class RowReplies:
    """Replies of one form for requests that ran together.

    Args:
        encode: makes one of them; its attribute `wanted` names the outputs that it writes.
    """

    __slots__ = ("_around", "_encode", "_wanted")

    def __init__(self, encode: Callable[[Arrays], Reply]) -> None:
        self._encode = encode
        self._wanted: Sequence[str] = getattr(encode, "wanted", ())
        self._around: dict[object, tuple[bytes, bytes] | None] = {}

    def __call__(self, outputs: Arrays) -> Reply:
        """Return the reply."""
        return self._encode(outputs)

    def encode_rows(self, outputs: Arrays, rows: Sequence[int]) -> list[Reply] | None:
        """Return the replies of requests whose rows ran together; or None."""
        if len(self._wanted) != 1:
            return None
        name = self._wanted[0]
        array = np.asarray(outputs[name])
        if array.dtype.kind not in "fiu" or not array.size or not array.dtype.isnative:
            return None
        raw = array.tobytes()
        row_bytes = array.nbytes // len(array)
        around: dict[int, tuple[bytes, bytes]] = {}
        replies = []
        begin = 0
        for count in rows:
            end = begin + count * row_bytes
            found = around.get(count)
            if found is None:
                known = self._around_of(name, array, count)
                if known is None:
                    return None
                found = around[count] = known
            replies.append(Reply(found[0] + raw[begin:end] + found[1], 0))
            begin = end
        return replies

    def _around_of(self, name: str, array: Array, count: int) -> tuple[bytes, bytes] | None:
        key = (count, array.shape[1:], array.dtype)
        try:
            return self._around[key]
        except KeyError:
            pass
        if len(self._around) >= _MAX_AROUND:
            self._around.clear()
        found = self._around[key] = self._find_around(name, array, count)
        return found

    def _find_around(self, name: str, array: Array, count: int) -> tuple[bytes, bytes] | None:
        size = array.nbytes // len(array) * count
        shape = (count, *array.shape[1:])
        one, other = (
            self._encode({name: np.frombuffer(pattern * size, array.dtype).reshape(shape)}).body
            for pattern in _PATTERNS
        )
        begin = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
        end = begin + size
        head, tail = one[:begin], one[end:]
        if one != head + _PATTERNS[0] * size + tail or other != head + _PATTERNS[1] * size + tail:
            return None
        return head, tail


def taker(exchange: Exchange, forms: PackedForms) -> Take:
    """Return a function that answers messages of known forms, without a task and without parsing.

    Args:
        exchange: the exchange that answers.
        forms: the forms of the method's messages.
    """

    def take(data: bytes, call: Quick) -> bool:
        form = forms.find(data)
        if form is None:
            return False
        headers = call.headers()
        request = form.request
        if exchange.policies or exchange.observers:  # these need the caller's identity
            request = Request(form, form.which, headers, call.peer(), len(data))
        elif request is None or request.headers is not headers:
            request = form.request = Request(form, form.which, headers, "", len(data))
        exchanging = exchange.open(request, call.answer)
        if not exchanging.is_over:
            call.exchanging = exchanging
            exchanging.start(data, within_s=call.time_remaining())
        return True

    return take
