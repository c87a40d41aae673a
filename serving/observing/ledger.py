"""Counters of several worker processes in shared memory.

Each worker writes its own page and reads all of them, so no lock is needed. A worker that replaces
another continues its page: counters never decrease.
"""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.serving.observing.metrics import Labels

_NAME_BYTES = 512
_COUNT = struct.Struct("<q")


class Ledger:
    """The shared memory, created before the workers.

    Args:
        workers: the number of pages.
        cells: the numbers of each entry.
        entries: the entries of each page; further ones are not exported.
    """

    def __init__(self, workers: int, cells: int, entries: int = 256) -> None:
        self._entry = _NAME_BYTES + 8 * cells
        self._cells = cells
        self._entries = entries
        self._page = 8 + entries * self._entry
        self._workers = workers
        self._memory = mmap.mmap(-1, self._page * workers)  # inherited by forked processes
        self._view = memoryview(self._memory)
        self._own = 0

    def claim(self, worker: int) -> None:
        """Use the page of this worker from now on."""
        self._own = worker * self._page

    def add(self, labels: Labels) -> memoryview[float] | None:
        """Add an entry of this worker; None if its page is full."""
        count = self._count(self._own)
        name = "\0".join(labels).encode()
        if count >= self._entries or len(name) > _NAME_BYTES - 8:
            return None
        at = self._own + 8 + count * self._entry
        _COUNT.pack_into(self._view, at, len(name))
        self._view[at + 8 : at + 8 + len(name)] = name
        _COUNT.pack_into(self._view, self._own, count + 1)  # last, which makes it visible to others
        return self._numbers(at)

    def own(self) -> Iterator[tuple[Labels, memoryview[float]]]:
        """The entries of this worker's page."""
        return self._of(self._own)

    def all(self) -> Iterator[tuple[Labels, memoryview[float]]]:
        """The entries of all workers."""
        for worker in range(self._workers):
            yield from self._of(worker * self._page)

    def _of(self, page: int) -> Iterator[tuple[Labels, memoryview[float]]]:
        for i in range(self._count(page)):
            at = page + 8 + i * self._entry
            size = _COUNT.unpack_from(self._view, at)[0]
            model, api, entrypoint = bytes(self._view[at + 8 : at + 8 + size]).decode().split("\0")
            yield (model, api, entrypoint), self._numbers(at)

    def _count(self, page: int) -> int:
        return int(_COUNT.unpack_from(self._view, page)[0])

    def _numbers(self, at: int) -> memoryview[float]:
        begin = at + _NAME_BYTES
        return self._view[begin : begin + 8 * self._cells].cast("d")
