"""Memory that detects accesses outside it: guard pages, guard bands and poison.

A lent array ends (or starts) at a protected page, so that a read or write beyond it is a fault of
the process; the rest of its pages is a band of poison that is checked afterwards. Poison is NaN, or
the bytes 0xAA: a small number, for ops that drop NaN.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from typing import Any

import numpy as np

PAGE = mmap.PAGESIZE
NOT_A_NUMBER, SMALL_NUMBER = 0xFF, 0xAA
_libc = ctypes.CDLL(None, use_errno=True)
_local = threading.local()


class Block:
    """Some pages between two protected ones."""

    def __init__(self, pages: int) -> None:
        self.size = pages * PAGE
        self._map = mmap.mmap(-1, self.size + 2 * PAGE)
        whole = np.frombuffer(self._map, np.uint8)
        start = whole.ctypes.data
        for guard in (start, start + PAGE + self.size):
            if _libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(PAGE), 0):
                raise OSError(ctypes.get_errno(), "mprotect")
        self.bytes = whole[PAGE : PAGE + self.size]


class Lent:
    """An array in a block, and the memory around it."""

    def __init__(self, block: Block, shape: tuple[int, ...], dtype: Any, poison: int, end: bool):
        kind = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        at = (block.size - size) // kind.alignment * kind.alignment if end else 0
        self.block, self._poison = block, poison
        self._bands = (block.bytes[:at], block.bytes[at + size :])
        block.bytes.fill(poison)
        self.array: Any = block.bytes[at : at + size].view(kind).reshape(shape)

    @property
    def is_intact(self) -> bool:
        """Whether the memory around the array is unchanged."""
        return all((band == self._poison).all() for band in self._bands)


class Lender:
    """Blocks that are reused from graph to graph."""

    def __init__(self) -> None:
        self._free: dict[int, list[Block]] = {}
        self._lent: list[Lent] = []
        self._count = 0

    @staticmethod
    def of_thread() -> Lender:
        """The lender of the calling thread."""
        found: Lender | None = getattr(_local, "lender", None)
        if found is None:
            found = _local.lender = Lender()
        return found

    def lend(self, shape: tuple[int, ...], dtype: Any, poison: int = NOT_A_NUMBER) -> Lent:
        """A poisoned array, alternately at the end and at the start of its pages."""
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        pages = max(1, -(-size // PAGE))
        waiting = self._free.setdefault(pages, [])
        block = waiting.pop() if waiting else Block(pages)
        self._count += 1
        lent = Lent(block, shape, dtype, poison, end=bool(self._count % 3))
        self._lent.append(lent)
        return lent

    def take_back(self) -> None:
        """Take back all lent arrays, which are no longer in use."""
        for lent in self._lent:
            lent.array = None
            self._free[lent.block.size // PAGE].append(lent.block)
        self._lent.clear()
