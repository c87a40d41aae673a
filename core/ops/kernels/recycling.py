"""Reuse of freed arrays' memory by arrays of the same size.

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

# The smallest array in bytes whose memory is kept, and the most bytes that are kept.
_SMALLEST, _MOST = 1 << 16, 1 << 26


class _Store:
    """Free memory blocks for reuse, by size."""

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
        """Return a block without further references."""
        size = len(block)
        # A destructor may run while this thread holds the lock: then the block is freed.
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
    """A new C-contiguous array with arbitrary content, whose memory is reused after its death."""
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
    """Disable reuse at exit; registered on first use, not on import."""
    atexit.register(_lent.clear)


def _end(owner: int, block: bytearray, _: object) -> None:
    _lent.pop(owner, None)
    _store.give_back(block)


def is_whole(array: Array) -> bool:
    """Whether an array covers all the memory it keeps alive, its own or lent."""
    base = array.base
    return base is None or (id(base) in _lent and base.size == array.size)


def is_alone(array: Array) -> bool:
    """Whether an array with a single reference is the only user of its memory."""
    if type(array) is not np.ndarray or not array.flags.writeable:
        return False
    if array.base is None:
        return bool(array.flags.owndata)
    return is_whole(array) and sys.getrefcount(array.base) <= _FEWEST


# The reference count of an array's base if only one array is a view of it.
_view = np.empty(1).reshape(1)
_FEWEST = sys.getrefcount(_view.base)
