"""Memory of arrays that have died, for the next of their size.

A loop's lists are new arrays of some hundred kilobytes in each run, and are freed before the next.
The system unmaps such memory at once, and page faults on new memory cost as much as filling it. An
array lent here returns its memory when the last view of it is deleted, whoever holds it.
"""

from __future__ import annotations

import atexit
import functools
import math
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import config
from pinnace.ops.kernels.poison import fill

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

# Bytes from which an array's memory is worth keeping; how many bytes wait for use at most.
_SMALLEST, _MOST = 1 << 16, 1 << 26


class _Store:
    """The free blocks that may be used again, by size."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: dict[int, list[bytearray]] = {}
        self._held = 0

    def take(self, size: int) -> bytearray:
        """A block of this size."""
        with self._lock:
            waiting = self._blocks.get(size)
            if waiting:
                self._held -= size
                return waiting.pop()
        return bytearray(size)

    def give_back(self, block: bytearray) -> None:
        """Put a block back to which there is no reference any more."""
        size = len(block)
        # An array may die anywhere, also where this thread holds the lock: then it is let go.
        if not self._lock.acquire(blocking=False):
            return
        try:
            if size > _MOST:
                return
            if self._held + size > _MOST:
                self._blocks.clear()  # sizes that were used once must not stay for good
                self._held = 0
            self._blocks.setdefault(size, []).append(block)
            self._held += size
        finally:
            self._lock.release()


_store = _Store()
# The arrays that own lent memory, by address. They are plain references: a `weakref.finalize` takes
# as long as a small kernel.
_lent: dict[int, weakref.ref[Array]] = {}


def empty(shape: tuple[int, ...], dtype: Any) -> Array:
    """A new array, C-contiguous, whatever is in it; its memory is used again when it has died."""
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    if size < _SMALLEST:
        return np.empty(shape, kind)
    block = _store.take(size)
    owner = np.frombuffer(block, kind)
    if config.settings.poison:
        fill(owner)
    if not _lent:
        _forget_at_the_end()
    key = id(owner)
    _lent[key] = weakref.ref(owner, functools.partial(_end, key, block))
    # Views hold the owner, not each other: it dies with the last of them.
    return owner.reshape(shape)


@functools.cache
def _forget_at_the_end() -> None:
    """Stop reusing memory at exit; registered on first use, not on import."""
    atexit.register(_lent.clear)


def _end(owner: int, block: bytearray, _: object) -> None:
    _lent.pop(owner, None)
    _store.give_back(block)


def is_whole(array: Array) -> bool:
    """Whether an array covers all of the memory that it keeps alive: its own, or lent."""
    base = array.base
    return base is None or (id(base) in _lent and base.size == array.size)


def is_alone(array: Array) -> bool:
    """Whether an array with one reference is the only one that uses its memory."""
    if type(array) is not np.ndarray or not array.flags.writeable:
        return False
    if array.base is None:
        return bool(array.flags.owndata)
    return is_whole(array) and sys.getrefcount(array.base) <= _FEWEST


# The references to what only one array is a view of.
_view = np.empty(1).reshape(1)
_FEWEST = sys.getrefcount(_view.base)
