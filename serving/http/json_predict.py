"""TensorFlow Serving's predict as a wire: in JSON, as .npy files, and with tensors as bytes.

A body of numbers for one float input, which is most of them, is read by machine code where there is
some (`number_rows`), or goes through simdjson into one buffer; whatever is not exactly that is
decoded by the full rules of `json_tensors`.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.calls import Reply
from pinnace.serving.handlers import DEFAULT_SIGNATURE
from pinnace.serving.http.infer import INFER, LENGTH_HEADER
from pinnace.serving.http.json_tensors import (
    Form,
    decode_feeds,
    encode_joined,
    encode_outputs,
    parse_predict,
)
from pinnace.serving.http.npy import NPY, npy_encoder, read_npy
from pinnace.serving.http.number_rows import note_numbers, read_rows
from pinnace.serving.http.replies import JSON, refusal
from pinnace.serving.packed_rows import PackedRows, RowKind, kind_of
from pinnace.serving.wires import Decoded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.serving.http.json_arrays import Array
    from pinnace.serving.servable import Arrays, Servable

try:
    import simdjson
except ImportError:  # no wheel for this platform: the full rules decode everything
    simdjson = None  # type: ignore[assignment]

_LARGE_BYTES = 2**22
_WIDE = np.dtype(np.float64)
_FLOATS = (np.dtype(np.float32), _WIDE)


class JsonPredict:
    """`POST …:predict`."""

    api = "predict"
    entrypoint = "REST"

    def __init__(self) -> None:
        self._plain: object = None  # the last headers that ask for nothing but JSON

    def decode(
        self, servable: Servable, body: bytes, headers: Mapping[bytes, bytes], begin: int = 0
    ) -> Decoded:
        """What the body asks: JSON, an .npy file, or JSON with tensors as bytes behind it.

        Raises:
            InvalidArgumentError: it cannot be understood; the message says where.
        """
        is_plain = headers is self._plain
        if not is_plain:
            if LENGTH_HEADER in headers:  # the Open Inference Protocol's own form
                return INFER.decode(servable, body, headers, begin)
            answers_npy = NPY in headers.get(b"accept", b"")
            asks_npy = NPY in headers.get(b"content-type", b"")
            if not answers_npy and not asks_npy:
                is_plain, self._plain = True, headers
        feeds: Arrays
        fast = read_rows(servable, body, begin) if is_plain or not asks_npy else None
        if fast is not None:
            name, feeds = fast
            form = Form.ROW
        else:
            if begin:
                body = body[begin:]
            if is_plain or not asks_npy:
                name, feeds, form = _decode_json(servable, body)
            else:
                name, feeds, form = *_decode_npy(servable, body, headers), Form.COLUMN
        if not is_plain and answers_npy:
            output = _npy_output(servable, name, headers)
            if output is not None:
                return Decoded(name, feeds, npy_encoder(output, str(servable.version).encode()))
        encode = servable.remembered.get(form)
        if encode is None:
            encode = _Encoder(form, str(servable.version).encode())
            servable.remember(form, encode)
        return Decoded(name, feeds, encode, encode)

    def is_quick(
        self, servable: Servable, body: bytes, headers: Mapping[bytes, bytes], begin: int
    ) -> bool:
        """Whether the tensors are bytes behind a short header."""
        return LENGTH_HEADER in headers and INFER.is_quick(servable, body, headers, begin)

    def refuse(self, error: BaseException) -> Reply:
        """`{"error": message}`."""
        return refusal(error)


PREDICT = JsonPredict()


def _decode_json(servable: Servable, body: bytes) -> tuple[str, Arrays, Form]:
    """The signature that a body asks, what it is fed, and how that stood there."""
    fast = _decode_numbers(servable, body)
    if fast is not None:
        return *fast, Form.ROW
    call = parse_predict(body)
    name = call.signature_name
    return name, decode_feeds(call, servable.signature(name).inputs), call.form


def _decode_npy(
    servable: Servable, body: bytes, headers: Mapping[bytes, bytes]
) -> tuple[str, dict[str, Array]]:
    """The signature that `X-Signature-Name` says, and its one input."""
    name = headers.get(b"x-signature-name", DEFAULT_SIGNATURE.encode()).decode("utf-8", "replace")
    inputs = servable.signature(name).inputs
    if len(inputs) != 1:
        raise InvalidArgumentError(
            f"An .npy file is one array, but signature '{name}' has the inputs "
            f"{{{', '.join(sorted(inputs))}}}\n  Try: JSON, or /v2/models/{servable.name}/infer"
        )
    ((key, spec),) = inputs.items()
    return name, {key: read_npy(body, spec.dtype)}


def _npy_output(servable: Servable, name: str, headers: Mapping[bytes, bytes]) -> str | None:
    """The output that an .npy file can hold; None if there are several and JSON will do."""
    outputs = servable.signature(name).outputs
    if len(outputs) == 1:
        return next(iter(outputs))
    accepted = headers[b"accept"]
    if b"json" in accepted or b"*/*" in accepted:
        return None
    raise InvalidArgumentError(
        f"An .npy file is one array, but signature '{name}' has the outputs "
        f"{{{', '.join(sorted(outputs))}}}\n  Try: Accept: application/json"
    )


class _Encoder:
    """Outputs as the reply to a request.

    Args:
        form: of the request.
        version: that answers.
    """

    __slots__ = ("_form", "_headers")

    def __init__(self, form: Form, version: bytes) -> None:
        self._form = form
        self._headers = (JSON, (b"x-model-version", version))

    def __call__(self, outputs: Arrays) -> Reply:
        """The reply."""
        return Reply(encode_outputs(outputs, self._form), 200, self._headers)

    def encode_rows(self, outputs: Arrays, rows: Sequence[int]) -> list[Reply] | None:
        """The reply to each of several requests whose rows ran together."""
        bodies = encode_joined(outputs, rows, self._form)
        headers = self._headers
        return None if bodies is None else [Reply(body, 200, headers) for body in bodies]


class _Parsers(threading.local):
    """One parser a thread: it reuses its memory."""

    def __init__(self) -> None:
        self.parser: Any = simdjson.Parser()


_PARSERS = None if simdjson is None else _Parsers()


def _decode_numbers(servable: Servable, body: bytes) -> tuple[str, PackedRows] | None:
    """Rows of numbers for one float input; None for anything else, right or wrong."""
    if _PARSERS is None:
        return None
    document = rows = None
    try:
        # One that read a large body would keep several times its size.
        parser: Any = simdjson.Parser() if len(body) > _LARGE_BYTES else _PARSERS.parser
        document = parser.parse(body)
        keys = len(document)
        name = DEFAULT_SIGNATURE if keys == 1 else document["signature_name"]
        if keys > 2 or type(name) is not str:
            return None
        rows = document["instances"]
        count = len(rows)
        shape = _row_shape(rows, body)
        if shape is None:
            return None
        kind = _kind(servable, name, shape)
        if kind is None:
            return None
        raw = memoryview(rows.as_buffer(of_type="d"))
        if raw.nbytes != count * kind.row_bytes:
            return None
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
        return None
    finally:
        document = rows = None  # the parser frees nothing that is looked at
    if kind.dtype != _WIDE:
        note_numbers(len(body))
    return name, PackedRows(kind, raw, count)


def _kind(servable: Servable, name: str, shape: tuple[int, ...]) -> RowKind | None:
    key = (name, shape)
    found: RowKind | None = servable.remembered.get(key)
    if found is None:
        signature = servable.signatures.get(name)
        if signature is None or len(signature.inputs) != 1:
            return None
        (only,) = signature.inputs
        found = kind_of(signature, only, _WIDE, shape, casts=True)
        if found is None or found.dtype not in _FLOATS:
            return None
        servable.remember(key, found)
    return found


def _row_shape(rows: Any, body: bytes) -> tuple[int, ...] | None:
    """The size of the rows of a list of numbers, or of lists of numbers; None for anything else.

    The brackets are counted, for the parser's buffer does not tell a list from its elements.
    """
    begin = body.find(b"[")
    shape: tuple[int, ...] = ()
    if not isinstance(rows[0], float | int):
        size = len(rows[0])
        shape = (size,)
        for row in rows:
            begin = body.find(b"[", begin + 1)
            if begin < 0 or len(row) != size:
                return None
    return None if body.find(b"[", begin + 1) >= 0 else shape
