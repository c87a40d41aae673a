"""Memory that NumPy does not know of: texts, and lists of Python.

Arrays are counted where NumPy makes them. A kernel that makes something else whose size comes from
values, and not from the size of what it was given, asks here before it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.context import state

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Bytes of Python's and NumPy's objects, about.
POINTER = 8  # an element of a list
NUMBER = 32 + POINTER
LIST = 56 + POINTER  # an empty one
ARRAY = 112 + POINTER  # without its elements
_TEXT = 33  # bytes of an empty text
_PIECE = 1 << 16  # bytes that are counted at once


def claim(size: int) -> None:
    """Ask for `size` bytes before they are taken; nothing if this thread's run has no limit.

    Raises:
        ResourceExhaustedError: the run may not take that much.
    """
    if state.claim is not None:
        state.claim(size)


def counted(texts: Iterable[bytes]) -> Iterable[bytes]:
    """`texts`, each counted after it was made and before the next one is."""
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
    """separator.join(texts), counted before it is made."""
    if state.claim is not None:
        claim(sum(map(len, texts)) + len(separator) * max(len(texts) - 1, 0))
    return separator.join(texts)
