"""Limits on what a request may expand to while it is read: checked before it is allocated.

A few bytes can expand to much: a value that fills a shape, a compressed body, a context that is
repeated for each example. Decoders check here before they allocate. The decoded size of a request
counts among the bytes that a server holds for all requests.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pinnace.serving.errors import RequestTooLargeError

if TYPE_CHECKING:
    from pinnace.serving.running.signatures import Arrays

MOST_BYTES = 64 * 2**20
# Numbers as text take about twelve times their size while they are parsed, in honest requests too.
PER_BYTE = 16
# A value that fills a shape is copied when requests are joined, by the model, and for the answer.
COPIES = 4


class _Allowance(threading.local):
    """The bytes that the request being decoded in this thread may still expand to."""

    most = MOST_BYTES


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


def held_bytes(feeds: Arrays) -> int:
    """The bytes of feeds; broadcast ones count as if they were copied."""
    return sum([array.nbytes for array in feeds.values()])
