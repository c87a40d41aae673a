"""Limits of the size to which a request or its reply expands, checked before allocation.

A few bytes can expand to many: a value that fills a shape, a compressed body, a context that is
repeated for each example. Decoders check here before they allocate. The decoded size of a request
counts against the bytes that a server holds for all requests. A reply has a limit too: encoders
check an array's minimum size here, and count the pieces that they write.
"""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import ResourceExhaustedError
from pinnace.serving.errors import RequestTooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pinnace.serving.running.signatures import Arrays

MOST_BYTES = 64 * 2**20
MOST_REPLY_BYTES = 4 * MOST_BYTES  # numbers may be longer as text than in the request
NO_LIMIT = 2**62
PIECE_BYTES = 2**20  # of a long text, written at once
_TEXTS = 2**15  # examined at once
# Numbers as text take about twelve times their size while they are parsed, also legitimate ones.
PER_BYTE = 16
# A value that fills a shape is copied when requests are joined, by the model, and for the reply.
COPIES = 4


class _Allowance(threading.local):
    """The allowance of the request that this thread works for.

    Attributes:
        most: bytes to which it may still expand while it is decoded.
        most_reply: bytes that its reply may have.
        regions: regions of shared memory, set by `regions.py`; None if the server has none.
    """

    most = MOST_BYTES
    most_reply = NO_LIMIT
    regions: Any = None


ALLOWANCE = _Allowance()


def allowed_bytes(sent: int, most: int) -> int:
    """Return the bytes to which a request may expand.

    Args:
        sent: bytes of its body, as received.
        most: the limit for any request.
    """
    return max(most, PER_BYTE * sent)


def check_expansion(needed: int, what: str) -> None:
    """Check that the request being decoded may expand to this many bytes.

    Args:
        needed: the bytes.
        what: the part that needs them, for the message.

    Raises:
        RequestTooLargeError: they exceed the limit.
    """
    most = ALLOWANCE.most
    if needed > most:
        raise RequestTooLargeError(
            f"{what} would take {needed} bytes of memory, and a request of this size may take "
            f"{most}\n  Try: send the values themselves, or pinnace serve --max_expansion_bytes"
        )


def check_reply(size: int, most: int | None = None) -> None:
    """Check that the answer being encoded may have this many bytes.

    Args:
        size: the least size that it will have.
        most: the limit; None for that of this thread's request.

    Raises:
        ResourceExhaustedError: the size exceeds the limit.
    """
    most = ALLOWANCE.most_reply if most is None else most
    if size > most:
        raise ResourceExhaustedError(
            f"the answer would have {size} bytes or more, and an answer may have {most}\n"
            "  Try: ask for fewer rows or outputs, or pinnace serve --max_reply_bytes"
        )


def joined(pieces: Iterable[bytes | memoryview]) -> bytes:
    """Return the concatenated pieces of an answer; other threads run in between.

    Raises:
        ResourceExhaustedError: the result is too long.
    """
    # It grows in place, and its content is taken without a copy: a join would hold the GIL for as
    # long as the whole takes.
    file = io.BytesIO()
    for piece in pieces:
        check_reply(file.tell() + len(piece))
        file.write(piece)
    return file.getvalue()


def pieces_of_bytes(text: bytes | memoryview) -> Iterable[bytes | memoryview]:
    """Yield a text in pieces of limited length."""
    if len(text) <= PIECE_BYTES:
        return (text,)
    view = memoryview(text)
    return (view[begin : begin + PIECE_BYTES] for begin in range(0, len(text), PIECE_BYTES))


def raw_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """Return the bytes of an array's elements, in C order.

    Raises:
        ResourceExhaustedError: the answer would be too large.
    """
    check_reply(array.nbytes)
    if array.nbytes <= PIECE_BYTES:
        return array.tobytes()
    return joined(chunk.tobytes() for chunk in chunks_of(array, PIECE_BYTES // array.itemsize))


def chunks_of(array: np.ndarray[Any, Any], count: int) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the elements of an array in C order, in chunks that are valid for one iteration."""
    if array.flags.c_contiguous:
        flat = array.reshape(-1)
        yield from (flat[begin : begin + count] for begin in range(0, flat.size, count))
    elif array.size:
        # It copies rows; `array.flat` would take twenty times as long, one number at a time.
        yield from np.nditer(
            array, flags=["external_loop", "buffered", "refs_ok"], order="C", buffersize=count
        )


def text_bytes(array: np.ndarray[Any, Any]) -> int:
    """The total length of an array's strings; other threads run in between."""
    return sum(
        sum([len(text) for text in chunk.tolist() if isinstance(text, bytes | str)])
        for chunk in chunks_of(array, _TEXTS)
    )


def held_bytes(feeds: Arrays) -> int:
    """The bytes of feeds; broadcast ones count as if they were copied."""
    return sum([array.nbytes for array in feeds.values()])
