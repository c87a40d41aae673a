"""Flushes denormal numbers to zero in our own runs, but not in other code on the same thread.

An operation on a denormal number (below 1.2e-38 in float32) takes a hundred times as long as on any
other. Adam's moments become denormal once gradients are small, and then a training step takes three
times as long. TensorFlow's threads flush denormals to zero, and so do a plan's run, an eager kernel
with much work and the helper threads. The previous mode is restored when a run ends, and during the
user's Python functions.

The setting is a register of the thread (mxcsr on x86-64, FPCR on arm64), which the C library reads
and writes with the rest of the floating-point environment. Where that cannot be reached, or was
tried and had no effect, nothing is set, and results hold denormals as NumPy's do.

Source:
    C11 7.6.4 (fegetenv, fesetenv); Intel 64 manual, volume 1, 10.2.3 (FTZ: bit 15, DAZ: bit 6,
    rounding: bits 13 and 14); Arm ARM, FPCR (FZ: bit 24, rounding: bits 22 and 23); fenv_t of glibc
    and musl.
"""

from __future__ import annotations

import contextlib
import functools
import platform
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Register(NamedTuple):
    """The position of the control register in `fenv_t`, in 32-bit units, and the bits to change."""

    place: int
    flush: int
    rounding: int


_REGISTERS = {
    "x86_64": _Register(7, 0x8040, 0x6000),
    "aarch64": _Register(0, 1 << 24, 3 << 22),
}
# More than any `fenv_t` has, in units of 32 bits.
_SPACE = 32


class _Way(NamedTuple):
    """The addresses of functions that access the floating-point environment, and our setting."""

    read: Callable[[int], object]
    write: Callable[[int], object]
    ours: int
    # Holds the memory of `ours`.
    memory: object


@functools.cache
def _way() -> _Way | None:
    """The functions and setting for this machine; None if it is not supported."""
    register = _REGISTERS.get(platform.machine())
    if register is None or not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes

        # With the GIL held: releasing it would take longer.
        library = ctypes.PyDLL(None)
        read, write = library.fegetenv, library.fesetenv
    except (ImportError, OSError, AttributeError):
        return None
    for function in (read, write):
        function.argtypes, function.restype = [ctypes.c_void_p], None
    theirs, ours = (ctypes.c_uint32 * _SPACE)(), (ctypes.c_uint32 * _SPACE)()
    read(ctypes.addressof(theirs))
    read(ctypes.addressof(ours))
    # Round to nearest, as TensorFlow's threads do.
    ours[register.place] = ours[register.place] & ~register.rounding | register.flush
    before = _flushes()
    write(ctypes.addressof(ours))
    during = _flushes()
    write(ctypes.addressof(theirs))
    if not during or _flushes() != before:
        return None
    return _Way(read, write, ctypes.addressof(ours), ours)


def _flushes() -> bool:
    """Whether this thread flushes denormal operands and denormal results."""
    operand, small = np.float32(1e-40), np.float32(1e-30)
    kept = operand * np.float32(2), small * np.float32(1e-10)
    return not any(one.view(np.uint32) for one in kept)


class Mode:
    """A thread's previous mode, and whether the thread is in a run."""

    __slots__ = ("_memory", "_ours", "_read", "_theirs", "_write", "is_inside")

    def __init__(self, way: _Way) -> None:
        import ctypes

        self._memory = (ctypes.c_uint32 * _SPACE)()
        self._theirs, self._ours = ctypes.addressof(self._memory), way.ours
        self._read, self._write = way.read, way.write
        self.is_inside = False

    def begin(self) -> None:
        """Save the current mode, and set ours."""
        self._read(self._theirs)
        self._write(self._ours)
        self.is_inside = True

    def end(self) -> None:
        """Restore the previous mode."""
        self.is_inside = False
        self._write(self._theirs)


class _Threads(threading.local):
    """Each thread's mode, None if it cannot be set: one lookup, since lookups are slow."""

    def __init__(self) -> None:
        way = _way()
        self.mode = None if way is None else Mode(way)


_threads = _Threads()


def begin() -> Mode | None:
    """Flush denormals from now on.

    Returns:
        An object whose `end` the caller calls; None inside another run, which continues.
    """
    mode = _threads.mode
    if mode is None or mode.is_inside:
        return None
    mode.begin()
    return mode


def flushing(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel, with denormals flushed to zero in its calls."""

    @functools.wraps(kernel)
    def call(*arrays: Any, **options: Any) -> Any:
        mode = begin()
        try:
            return kernel(*arrays, **options)
        finally:
            if mode is not None:
                mode.end()

    return call


@contextlib.contextmanager
def theirs() -> Iterator[None]:
    """Restore the previous mode inside a run, for user code and new threads.

    A new thread starts with the mode of the thread that created it.
    """
    mode = _threads.mode
    if mode is None or not mode.is_inside:
        yield
        return
    mode.end()
    try:
        yield
    finally:
        mode.begin()


def flush_thread() -> None:
    """Flush denormals to zero in this thread, one of our own, from now on."""
    begin()


def can_flush() -> bool:
    """Whether this machine supports it."""
    return _threads.mode is not None
