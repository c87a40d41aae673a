"""A limit for the memory of a run: NumPy's allocations are counted while one is active.

NumPy supports an allocator per thread (NEP 49). This one checks a budget and then calls NumPy's
own, which alone frees memory, so that arrays may outlive this module's state. Threads without a
budget are unaffected.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.context import state
from pinnace.framework.errors import OpError, ResourceExhaustedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Indices in the table of NumPy's C interface: they never change.
_SET_HANDLER = 304
_GET_HANDLER = 305
_UNASKED = 16  # this fraction of the budget is granted without reading the process's memory
_STATM = Path("/proc/self/statm")
_GIVEN_BACK_S = 1.0  # free heap memory is returned to the system this often at most


class _Allocator(ctypes.Structure):
    _fields_ = (
        ("ctx", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


class _Handler(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("allocator", _Allocator),
    )


# PYFUNCTYPE: NumPy's own allocator caches small blocks in a list guarded by the GIL.
_MALLOC = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_CALLOC = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
_REALLOC = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class _Budget(threading.local):
    """The bytes that the run of this thread may still allocate."""

    left = 0
    most = 0
    start: int | None = None  # the process's memory before the run; None until it is needed
    refused = 0
    is_crowded = False  # whether memory was refused because of other runs


_budget = _Budget()


class Limits:
    """Limits of the process's memory.

    Attributes:
        process_bytes: resident memory; 0 for no limit.
        data_bytes: committed memory, touched or not, with stacks of threads; 0 for no limit.
        counts_free: whether free parts of the heap count as used.
    """

    def __init__(
        self, process_bytes: int = 0, data_bytes: int = 0, *, counts_free: bool = True
    ) -> None:
        self.process_bytes = process_bytes
        self.data_bytes = data_bytes
        self.counts_free = counts_free

    def have_room(self, size: int) -> bool:
        """Whether the process may allocate this many more bytes, whichever run holds the rest."""
        if self.data_bytes:
            taken = _taken() if self.counts_free else _held()
            if taken + size > self.data_bytes:
                return False
        if not self.process_bytes or resident() + size <= self.process_bytes:
            return True
        # Freed memory may remain in the heap, in fragments too small for a new array.
        return _give_back() and resident() + size <= self.process_bytes


limits = Limits()  # shared by all runs


def _allows(size: int) -> bool:
    budget = _budget
    if size <= budget.left:
        budget.left -= size
        return True
    if not budget.most:  # an array that was made inside the block grows outside of it
        return True
    # Small runs never get here: reading the process's memory takes a while.
    if budget.start is None:
        budget.start = _held() - (budget.most // _UNASKED - budget.left)
    # Much of the counted memory may have been freed: read the process's memory instead.
    grown = max(_held() - budget.start, 0)
    budget.is_crowded = grown + size <= budget.most and not limits.have_room(size)
    if grown + size > budget.most or budget.is_crowded:
        budget.refused = size
        return False
    # Checked again after this fraction: other runs allocate from the same limit.
    budget.left = min(budget.most - grown - size, budget.most // _UNASKED)
    return True


def resident() -> int:
    """Resident bytes of the process that are not backed by a file."""
    try:
        _, resident, shared, *_ = map(int, _STATM.read_bytes().split())
        return (resident - shared) * mmap.PAGESIZE
    except (OSError, ValueError, IndexError):
        return 0  # systems without /proc


def _held() -> int:
    """Bytes that the process has allocated from the system, touched or not, and has not freed.

    The heap keeps freed memory below a block in use: a run that reuses it needs as much as one for
    which the process grows.
    """
    taken = _taken()
    if not taken:
        return _committed() if sys.platform == "win32" else _largest()
    return taken - _free_in_heap()


def _taken() -> int:
    """Bytes that the process has obtained from the system, including freed ones.

    Returns:
        0 on systems without /proc.
    """
    try:
        return int(_STATM.read_bytes().split()[5]) * mmap.PAGESIZE
    except (OSError, ValueError, IndexError):
        return 0


class _HeapInfo(ctypes.Structure):
    """The GNU C library's `struct mallinfo2`."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


class _Given:
    """The time at which free heap memory was last returned, by `time.monotonic`."""

    lock = threading.Lock()
    at = float("-inf")


def _give_back() -> bool:
    """Make the C library return free heap memory to the system; returns whether it did.

    It takes milliseconds, and is done at most once a second.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    with _Given.lock:
        now = time.monotonic()
        if trim is None or now - _Given.at < _GIVEN_BACK_S:
            return False
        _Given.at = now
    return bool(trim(0))


@functools.cache
def _heap_info() -> Any:
    """The function `mallinfo2`; None in C libraries without it, such as glibc before 2.33."""
    function = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if function is not None:
        function.restype = _HeapInfo
    return function


def _free_in_heap() -> int:
    """Bytes of the heap that are free, as far as the C library reports them."""
    function = _heap_info()
    return 0 if function is None else int(function().fordblks)


def _largest() -> int:
    """The process's peak memory, the best measure that is available without /proc."""
    import resource  # Windows has none

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class _Counters(ctypes.Structure):
    """Windows' PROCESS_MEMORY_COUNTERS."""

    _fields_ = (
        ("cb", ctypes.c_uint32),
        ("page_faults", ctypes.c_uint32),
        ("peak_working_set", ctypes.c_size_t),
        ("working_set", ctypes.c_size_t),
        ("peak_paged_pool", ctypes.c_size_t),
        ("paged_pool", ctypes.c_size_t),
        ("peak_nonpaged_pool", ctypes.c_size_t),
        ("nonpaged_pool", ctypes.c_size_t),
        ("pagefile", ctypes.c_size_t),
        ("peak_pagefile", ctypes.c_size_t),
    )


def _committed() -> int:
    """Bytes that the process has committed, by Windows' counters."""
    counters = _Counters(cb=ctypes.sizeof(_Counters))
    this = ctypes.c_void_p(-1)  # the value that GetCurrentProcess returns
    windll: Any = ctypes.windll  # type: ignore[attr-defined]  # Windows only
    found = windll.kernel32.K32GetProcessMemoryInfo(this, ctypes.byref(counters), counters.cb)
    return int(counters.pagefile) if found else 0


@functools.cache
def _numpy() -> tuple[Any, Any, Any]:
    """NumPy's setter of a thread's allocator, its constructor, and NumPy's own functions."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    table = ctypes.cast(
        pointer(np._core._multiarray_umath._ARRAY_API, None),  # type: ignore[attr-defined]
        ctypes.POINTER(ctypes.c_void_p),
    )
    get = ctypes.PYFUNCTYPE(ctypes.py_object)(table[_GET_HANDLER])
    install = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])
    name = b"mem_handler"
    own = _Handler.from_address(pointer(get(), name)).allocator

    def made(label: bytes, functions: tuple[Any, Any, Any]) -> Any:
        places = [ctypes.cast(function, ctypes.c_void_p).value for function in functions]
        handler = _Handler(label, 1, _Allocator(own.ctx, *places, own.free))
        # Arrays refer to it, possibly until the interpreter is gone: nothing that is cleared before
        # that may own it.
        for one in (handler, functions, name):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))
        return make(ctypes.addressof(handler), name, None)

    return install, made, (_MALLOC(own.malloc), _CALLOC(own.calloc), _REALLOC(own.realloc))


@functools.cache
def _interface() -> tuple[Any, Any]:
    """NumPy's function that sets a thread's allocator, and the allocator that checks the budget."""
    install, made, (malloc, calloc, realloc) = _numpy()

    # Returning None means NULL, for which NumPy raises MemoryError.
    def bounded_malloc(ctx: int | None, size: int) -> int | None:
        return malloc(ctx, size) if _allows(size) else None

    def bounded_calloc(ctx: int | None, count: int, size: int) -> int | None:
        return calloc(ctx, count, size) if _allows(count * size) else None

    def bounded_realloc(ctx: int | None, old: int | None, size: int) -> int | None:
        return realloc(ctx, old, size) if _allows(size) else None

    functions = (_MALLOC(bounded_malloc), _CALLOC(bounded_calloc), _REALLOC(bounded_realloc))
    return install, made(b"pinnace_bounded", functions)


@functools.cache
def _filling() -> tuple[Any, Any]:
    """NumPy's function that sets a thread's allocator, and an allocator that fills new memory."""
    install, made, (malloc, calloc, realloc) = _numpy()

    def filling_malloc(ctx: int | None, size: int) -> int | None:
        found: int | None = malloc(ctx, size)
        if found:
            ctypes.memset(found, 0xFF, size)
        return found

    functions = (_MALLOC(filling_malloc), calloc, realloc)
    return install, made(b"pinnace_filled", functions)


@contextlib.contextmanager
def filled() -> Iterator[None]:
    """Fill arrays that this thread makes inside the block with NaN, or -1."""
    install, capsule = _filling()
    before = install(capsule)
    try:
        yield
    finally:
        install(before)


def _claim(size: int) -> None:
    """Count memory other than arrays against the same budget."""
    if not _allows(size):
        raise _too_much(size)


def _too_much(size: int) -> OpError:
    if _budget.is_crowded:
        return UnavailableError(
            f"a run asked for {size} more bytes of memory, and the process may have "
            f"{limits.data_bytes or limits.process_bytes} in all: others have the rest; try again "
            "later"
        )
    return ResourceExhaustedError(
        f"a run may take {_budget.most} bytes of memory, and this one asked for {size} more"
    )


@contextlib.contextmanager
def bounded(most_bytes: int) -> Iterator[None]:
    """Limit the memory of arrays that this thread makes inside the block.

    Memory of other threads counts once the process's memory is read, which is when the run has
    allocated that much in total.

    Args:
        most_bytes: most bytes of arrays at any moment.

    Raises:
        ResourceExhaustedError: an array would exceed the limit.
        UnavailableError: the process is already at the limit of `limits`.
    """
    install, capsule = _interface()
    budget = _budget
    outer = (budget.left, budget.most, budget.start)
    budget.most, budget.left = most_bytes, most_bytes // _UNASKED
    budget.start, budget.refused, budget.is_crowded = None, 0, False
    before = install(capsule)
    claim, state.claim = state.claim, _claim
    try:
        yield
    except MemoryError:
        if budget.refused:
            raise _too_much(budget.refused) from None
        raise
    finally:
        install(before)
        state.claim = claim
        budget.left, budget.most, budget.start = outer
