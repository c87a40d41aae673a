"""Accounting for memory that NumPy does not allocate: strings and Python lists.

Arrays are counted where NumPy allocates them. A kernel that allocates anything else whose size
depends on values, rather than on the sizes of its inputs, requests it here first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.context import state

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Approximate sizes in bytes of Python's and NumPy's objects.
POINTER = 8  # an element of a list
NUMBER = 32 + POINTER
LIST = 56 + POINTER  # an empty one
ARRAY = 112 + POINTER  # without its elements
_TEXT = 33  # bytes of an empty text
_PIECE = 1 << 16  # bytes that are accounted for at once


def claim(size: int) -> None:
    """Account for `size` bytes before they are allocated; no effect without a limit.

    Raises:
        ResourceExhaustedError: the run may not take that much.
    """
    if state.claim is not None:
        state.claim(size)


def counted(texts: Iterable[bytes]) -> Iterable[bytes]:
    """`texts`, each accounted for after it is created and before the next one is."""
    return texts if state.claim is None else _counted(texts)


def _counted(texts: Iterable[bytes]) -> Iterator[bytes]:
    waiting = 0
    for text in texts:
        waiting += len(text) + _TEXT + POINTER
        if waiting > _PIECE:
            claim(waiting)
            waiting = 0
        yield text
    claim(waiting)


def joined(separator: bytes, texts: Sequence[bytes]) -> bytes:
    """separator.join(texts), accounted for in advance."""
    if state.claim is not None:
        claim(sum(map(len, texts)) + len(separator) * max(len(texts) - 1, 0))
    return separator.join(texts)
