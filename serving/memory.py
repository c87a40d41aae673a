"""Memory and garbage collection of a serving process.

Requests create no reference cycles; collecting garbage every few hundred objects, through
everything that was loaded, costs a small model's server a tenth of its time. And a batch is
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

_YOUNG = 20_000  # objects that are made before the young ones are looked at: a few megabytes
_MMAP_THRESHOLD, _TRIM_THRESHOLD, _MOST_ARENAS = -3, -1, -8  # parameters of glibc's mallopt
# Larger blocks go back to the system at once. Answers of 16 MiB and the lists of large messages are
# smaller: their pages, given anew for each request, cost more than the request (10 of 23 ms).
_OWN_PAGES_BYTES = 24 * 2**20
_KEPT_AT_TOP = 4 * 2**20
_KEPT_BYTES = 64 * 2**20  # free memory beyond it goes back too


@contextmanager
def kept_for_requests() -> Iterator[None]:
    """Keep pages, and collect garbage seldom, while the process serves."""
    before = gc.get_threshold()
    # Nothing is frozen: a version that is replaced has cycles, and must go.
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
        self.is_ours = False  # it was on before
        self.lock = threading.Lock()


_PAUSES = _Pauses()


@contextmanager
def no_collections() -> Iterator[None]:
    """Pause garbage collection: the many objects that are made are in no cycles and die at once.

    A request of a megabyte may be a third of a million lists, after which Python looks through all
    that the process has, and everybody waits.
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
    """Make glibc return free memory to the system; whether it does. It takes milliseconds.

    Python frees the memory of a large request block by block, in several of glibc's arenas, each of
    which keeps some megabytes.
    """
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None)  # its calls let other threads go on
    return hasattr(library, "malloc_trim") and bool(library.malloc_trim(_KEPT_AT_TOP))


def keep_pages() -> bool:
    """Make glibc keep the memory of middle-sized arrays; whether it does.

    There is no change if the environment configures malloc, or with another C library.
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
        # One arena: each keeps `_KEPT_BYTES` at its top, which `malloc_trim` gives back in the
        # first alone, and each thread that loads a version could get another one.
        library.mallopt(_MOST_ARENAS, 1),
    ]
    return all(kept)
