"""Limits of the size that a request or its reply expands to, checked before allocation.

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
MOST_REPLY_BYTES = 4 * MOST_BYTES  # numbers of a large body are longer as text than as they came
NO_LIMIT = 2**62
PIECE_BYTES = 2**20  # of a long text, written at once
_TEXTS = 2**15  # that are looked at at once
# Numbers as text take about twelve times their size while they are parsed, in honest requests too.
PER_BYTE = 16
# A value that fills a shape is copied when requests are joined, by the model, and for the answer.
COPIES = 4


class _Allowance(threading.local):
    """The allowance of the request that this thread works for.

    Attributes:
        most: bytes that it may still expand to while it is decoded.
        most_reply: bytes of its answer.
        regions: of shared memory, which `regions.py` has; None if the server has none.
    """

    most = MOST_BYTES
    most_reply = NO_LIMIT
    regions: Any = None


ALLOWANCE = _Allowance()


def allowed_bytes(sent: int, most: int) -> int:
    """The bytes that a request may expand to.

    Args:
        sent: bytes of its body, as they came.
        most: that any request may.
    """
    return max(most, PER_BYTE * sent)


def check_expansion(needed: int, what: str) -> None:
    """Raise if the request being decoded may not expand to so many bytes.

    Args:
        needed: bytes.
        what: needs them, for the message.

    Raises:
        RequestTooLargeError: it may not.
    """
    most = ALLOWANCE.most
    if needed > most:
        raise RequestTooLargeError(
            f"{what} would take {needed} bytes of memory, and a request of this size may take "
            f"{most}\n  Try: send the values themselves, or pinnace serve --max_expansion_bytes"
        )


def check_reply(size: int, most: int | None = None) -> None:
    """Raise if the answer that is being encoded may not have so many bytes.

    Args:
        size: that it has at least.
        most: that it may have; None for what this thread's may.

    Raises:
        ResourceExhaustedError: it may not.
    """
    most = ALLOWANCE.most_reply if most is None else most
    if size > most:
        raise ResourceExhaustedError(
            f"the answer would have {size} bytes or more, and an answer may have {most}\n"
            "  Try: ask for fewer rows or outputs, or pinnace serve --max_reply_bytes"
        )


def joined(pieces: Iterable[bytes | memoryview]) -> bytes:
    """One text of many pieces of an answer; other threads run in between.

    Raises:
        ResourceExhaustedError: it becomes too long.
    """
    # It grows where it is, and gives what it has without a copy: a join would take as long as the
    # whole, in which no other thread runs.
    file = io.BytesIO()
    for piece in pieces:
        check_reply(file.tell() + len(piece))
        file.write(piece)
    return file.getvalue()


def pieces_of_bytes(text: bytes | memoryview) -> Iterable[bytes | memoryview]:
    """A text in pieces, none of which is long."""
    if len(text) <= PIECE_BYTES:
        return (text,)
    view = memoryview(text)
    return (view[begin : begin + PIECE_BYTES] for begin in range(0, len(text), PIECE_BYTES))


def raw_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """The bytes of an array's elements, in C order.

    Raises:
        ResourceExhaustedError: an answer may not have so many.
    """
    check_reply(array.nbytes)
    if array.nbytes <= PIECE_BYTES:
        return array.tobytes()
    return joined(chunk.tobytes() for chunk in chunks_of(array, PIECE_BYTES // array.itemsize))


def chunks_of(array: np.ndarray[Any, Any], count: int) -> Iterator[np.ndarray[Any, Any]]:
    """The elements of an array in C order, so many at a time; each chunk for its turn only."""
    if array.flags.c_contiguous:
        flat = array.reshape(-1)
        yield from (flat[begin : begin + count] for begin in range(0, flat.size, count))
    elif array.size:
        # It copies rows, where `array.flat` takes twenty times as long for one number at a time.
        yield from np.nditer(
            array, flags=["external_loop", "buffered", "refs_ok"], order="C", buffersize=count
        )


def text_bytes(array: np.ndarray[Any, Any]) -> int:
    """The lengths of an array's texts together; other threads run in between."""
    return sum(
        sum([len(text) for text in chunk.tolist() if isinstance(text, bytes | str)])
        for chunk in chunks_of(array, _TEXTS)
    )


def held_bytes(feeds: Arrays) -> int:
    """The bytes of feeds; broadcast ones count as if they were copied."""
    return sum([array.nbytes for array in feeds.values()])
