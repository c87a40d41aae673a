"""How a process that serves takes memory and looks for garbage.

What requests leave behind is no cycle and goes at once; looking for cycles every few hundred
objects, through all that was loaded, costs a small model's server a tenth of its time. And a batch
is joined in memory that the system would give, page by page, and take back, every time: glibc gives
back what is larger than 128 KiB, until it was seen how it is used.
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
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # parameters of glibc's mallopt
# Larger blocks go back to the system at once. Answers of 16 MiB and the lists of large messages are
# smaller: their pages, given anew for each request, cost more than the request (10 of 23 ms).
_OWN_PAGES_BYTES = 24 * 2**20
_KEPT_AT_TOP = 4 * 2**20
_KEPT_BYTES = 64 * 2**20  # free memory beyond it goes back too


@contextmanager
def kept_for_requests() -> Iterator[None]:
    """Keep pages, and look for garbage seldom, as long as the process serves."""
    before = gc.get_threshold()
    # Nothing is frozen: a version that is replaced has cycles, and must go.
    gc.set_threshold(_YOUNG, *before[1:])
    keep_pages()
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Pauses:
    """The number of threads that want garbage collection paused."""

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
    """Let glibc give the system what it keeps for itself; whether it does. It takes milliseconds.

    What a large request made is given back by Python piece by piece, in several of glibc's arenas,
    each of which keeps some megabytes.
    """
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None)  # its calls let other threads go on
    return hasattr(library, "malloc_trim") and bool(library.malloc_trim(_KEPT_AT_TOP))


def keep_pages() -> bool:
    """Let glibc keep the memory of middle-sized arrays; whether it does.

    Nothing is changed where the environment says how memory is to be taken, or by another C
    library.
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
    ]
    return all(kept)
