"""Memory and garbage collection of a serving process.

Requests create no reference cycles, but collecting garbage every few hundred objects, through
everything that was loaded, costs a small model's server a tenth of its time. And batches are
assembled in memory that the system would map and unmap, page by page, every time: by default glibc
unmaps blocks above 128 KiB.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_YOUNG = 20_000  # objects between two collections of the young ones: a few megabytes
_MMAP_THRESHOLD, _TRIM_THRESHOLD, _MOST_ARENAS = -3, -1, -8  # parameters of glibc's mallopt
# Larger blocks are unmapped at once. Answers of 16 MiB and the lists of large messages are
# smaller: mapping their pages for each request would cost more than the request (10 of 23 ms).
_OWN_PAGES_BYTES = 24 * 2**20
_KEPT_AT_TOP = 4 * 2**20
_KEPT_BYTES = 64 * 2**20  # free memory beyond it is returned to the system


@contextmanager
def kept_for_requests() -> Iterator[None]:
    """Keep pages, and collect garbage rarely, while the process serves."""
    before = gc.get_threshold()
    # Nothing is frozen: a replaced version has cycles, and must be freed.
    gc.set_threshold(_YOUNG, *before[1:])
    keep_pages()
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Pauses:
    """The number of threads that have paused garbage collection."""

    def __init__(self) -> None:
        self.count = 0
        self.is_ours = False  # whether it was enabled before
        self.lock = threading.Lock()


_PAUSES = _Pauses()


@contextmanager
def no_collections() -> Iterator[None]:
    """Pause garbage collection while many objects without cycles are created and freed.

    A request of a megabyte may be a third of a million lists, after which Python would examine all
    objects of the process, while all requests wait.
    """
    with _PAUSES.lock:
        _PAUSES.count += 1
        if _PAUSES.count == 1:
            _PAUSES.is_ours = gc.isenabled()
            gc.disable()
    try:
        yield
    finally:
        with _PAUSES.lock:
            _PAUSES.count -= 1
            if not _PAUSES.count and _PAUSES.is_ours:
                gc.enable()


def give_back() -> bool:
    """Have glibc return free memory to the system, which takes milliseconds; whether it does.

    Python frees the memory of a large request block by block, in several of glibc's arenas, each of
    which keeps some megabytes.
    """
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None)  # its calls release the GIL
    return hasattr(library, "malloc_trim") and bool(library.malloc_trim(_KEPT_AT_TOP))


def keep_pages() -> bool:
    """Have glibc keep the memory of middle-sized arrays; whether it does.

    Has no effect if the environment configures malloc, or with another C library.
    """
    told = any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ)
    if told or sys.platform != "linux":
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version") or not hasattr(library, "mallopt"):
        return False
    kept = [
        library.mallopt(_MMAP_THRESHOLD, _OWN_PAGES_BYTES),
        library.mallopt(_TRIM_THRESHOLD, _KEPT_BYTES),
        # One arena: each keeps `_KEPT_BYTES` at its top, which `malloc_trim` returns only for the
        # first, and each thread that loads a version could get another one.
        library.mallopt(_MOST_ARENAS, 1),
    ]
    return all(kept)
