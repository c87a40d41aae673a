"""Compiles source to machine code in the background, cached on disk.

Numba takes half a second to several seconds for a kernel, so nobody waits for it: a request returns
at once, and its function is None until a process of its own (`ahead.compiling`) has compiled it, or
for good where Numba cannot be had. The machine code is kept in the cache folder (`kept`); the next
process loads it in milliseconds.

Machine code is executed as stored, so a folder is trusted only if it belongs to the user or the
superuser, and nobody else may write to it. A read-only folder, as in an image filled by `pinnace
warmup`, is read.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import queue
import re
import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pinnace.engine.ahead import calling, reading
from pinnace.engine.ahead.compiling import CompilerProcess, EndedError
from pinnace.engine.codegen import kept
from pinnace.framework import config

if TYPE_CHECKING:
    from collections.abc import Callable

_HEADER = '''"""Written by pinnace.engine.codegen; it may be deleted."""

import numpy as np
from numba import njit, types
from numba.types import float32, int64, void
from pinnace.engine.codegen.mathematics import (
    erf, erfc, exp, expm1, flag_row, larger, maximum, minimum, plus, row, sigmoid, tanh,
    whole_vectors,
)

ROWS = types.Array(float32, 2, "A", readonly=True)
READ = types.Array(float32, 1, "C", readonly=True)
WRITTEN = types.Array(float32, 1, "C")
FLAG_ROWS = types.Array(types.boolean, 2, "A", readonly=True)
FLAGS = types.Array(types.boolean, 1, "C", readonly=True)
sqrt = np.sqrt
'''


# A kernel's scratch memory, and the fill value with which tests detect uninitialised reads.
_EMPTY = re.compile(r"np\.empty\((.+), np\.(float32|int64)\)$", re.MULTILINE)
_POISON = {"float32": "np.float32(np.nan)", "int64": "np.int64(-0x5555555555555556)"}


class Kernel:
    """A requested function: None until it is compiled.

    Attributes:
        function: also None if Numba refused the source.
        seconds: to compile or to load.
        is_new: whether it was compiled in this process; otherwise it was in the cache folder.
        bytes: of its machine code in the cache folder; 0 if it is not stored.
        done: set when no work on it is pending.
    """

    __slots__ = ("bytes", "done", "function", "is_new", "seconds", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.function: Callable[..., Any] | None = None
        self.done = threading.Event()
        self.seconds = 0.0
        self.is_new = False
        self.bytes = 0


_kernels: dict[str, Kernel] = {}
_lock = threading.Lock()
_requests: queue.SimpleQueue[Kernel] = queue.SimpleQueue()
_thread: threading.Thread | None = None
_leaving = False
# Seconds without a request after which the process that compiles ends, since it takes memory.
_IDLE_S = 10.0
# Why there is no compiled code in this process.
failure: str | None = None
# Texts that were refused, and why: for those who look after the code generator.
errors: dict[str, str] = {}


class RefusedTextError(Exception):
    """A text is not compiled; the message says why."""


def request(text: str) -> Kernel:
    """The function `kernel` of a source, compiled once per process.

    Args:
        text: defines `kernel` with a signature decorator; may use NumPy and `codegen.mathematics`.
    """
    global _thread
    if config.settings.poison:
        text = _EMPTY.sub(lambda found: f"np.full({found[1]}, {_POISON[found[2]]})", text)
    with _lock:
        found = _kernels.get(text)
        if found is None:
            found = _kernels[text] = Kernel(text)
            if not _is_ahead(found) and not _is_kept(found):
                _requests.put(found)
                if _thread is None:
                    _thread = threading.Thread(target=_serve, name="pinnace-compiler", daemon=True)
                    _thread.start()
    return found


def is_ahead(text: str) -> bool:
    """Whether a loaded library has the precompiled kernel of a source."""
    return not config.settings.poison and reading.find(full_text(text)) is not None


def _is_ahead(kernel: Kernel) -> bool:
    """Whether a kernel was precompiled; if so, it is loaded."""
    function = reading.find(full_text(kernel.text))
    if function is None:
        return False
    kernel.function = function
    errors.pop(kernel.text, None)
    kernel.done.set()
    return True


def _is_kept(kernel: Kernel) -> bool:
    """Whether an earlier process has stored a kernel; if so, it is loaded."""
    began = perf_counter()
    try:
        found = kept.load(full_text(kernel.text))
    except Exception:  # such as no llvmlite: compiling will report it
        return False
    if found is None:
        return False
    kernel.function, kernel.bytes = found
    kernel.seconds = perf_counter() - began
    kernel.done.set()
    return True


def adopt() -> None:
    """Look for pending or failed kernels in newly loaded libraries."""
    with _lock:
        for kernel in _kernels.values():
            if kernel.function is None:
                _is_ahead(kernel)


def full_text(text: str) -> str:
    """The source of a kernel's module."""
    return _HEADER + text


def requested() -> list[Kernel]:
    """All kernels requested in this process, in order."""
    with _lock:
        return list(_kernels.values())


def missing() -> str | None:
    """Why nothing can be compiled in this process; None if nothing is known to be in the way."""
    if failure is None and not _has_numba():
        return "Numba is not installed"
    if failure is None and not calling.can_call():
        return "this build of Python or NumPy has the fields of arrays in other places"
    return failure


def _has_numba() -> bool:
    with contextlib.suppress(ImportError):  # of who guards what may be imported
        return importlib.util.find_spec("numba") is not None
    return False


class _Compiler:
    """The process that compiles, started when it is needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: CompilerProcess | None = None

    def code_of(self, text: str) -> bytes:
        """The object file of a kernel.

        Args:
            text: of its module, the header included.

        Raises:
            RefusedTextError: it is not compiled.
            EndedError: the process cannot be started.
        """
        with self._lock:
            answer = None
            for _ in range(2):  # a process that was ended by others says nothing about the text
                if self._process is None:
                    self._process = CompilerProcess(for_libraries=False, environment={})
                try:
                    answer = self._process.compile(text)
                    break
                except EndedError as error:
                    why = str(error)
                    self._process.close()
                    self._process = None
                    if _leaving:
                        break
        if answer is None:
            raise RefusedTextError(f"the process that compiles has ended: {why}")
        if answer.reason:
            raise RefusedTextError(answer.reason)
        return answer.code

    def rest(self) -> None:
        """Let the process end: nothing was asked of it for a while."""
        with self._lock:
            if self._process is not None:
                self._process.close()
                self._process = None

    def kill(self) -> None:
        """End the process, also while a thread waits for its answer."""
        process = self._process
        if process is not None:
            process.kill()
            if self._lock.acquire(timeout=1):  # the thread closes what it waited at
                process.close()
                self._lock.release()

    def abandon(self) -> None:
        """After a fork: the process is the parent's."""
        if self._process is not None:
            self._process.abandon()


_compiler = _Compiler()


def _forget() -> None:
    """After a fork the thread is gone: what it had not made is asked for anew."""
    global _thread, _lock, _requests, _compiler
    _compiler.abandon()
    _compiler = _Compiler()
    _lock = threading.Lock()
    _requests = queue.SimpleQueue()
    _thread = None
    for text, kernel in list(_kernels.items()):
        if kernel.function is None:
            del _kernels[text]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _serve() -> None:
    """Make kernels as they are requested, for as long as the process runs."""
    while True:
        try:
            kernel = _requests.get(timeout=_IDLE_S)
        except queue.Empty:
            _compiler.rest()
            kernel = _requests.get()
        try:
            if not _leaving and kernel.function is None:
                _make(kernel)
        finally:
            kernel.done.set()


def _make(kernel: Kernel) -> None:
    """Load a kernel, or have it compiled, and keep it for later processes."""
    global failure
    if _is_kept(kernel):
        return
    failure = missing()
    if failure is not None:
        return
    began = perf_counter()
    text = full_text(kernel.text)
    try:
        code = _compiler.code_of(text)
        function, kernel.bytes = kept.keep(text, code)
    except EndedError as error:
        failure = f"no process that compiles: {error}"
        return
    except Exception as error:
        errors[kernel.text] = str(error) or type(error).__name__
        return
    kernel.is_new = True
    kernel.seconds = perf_counter() - began
    kernel.function = function


def _leave() -> None:
    """Before the interpreter ends: a kernel that is half made is of no use to anybody."""
    global _leaving
    _leaving = True
    _compiler.kill()


atexit.register(_leave)


def function_of(text: str) -> Callable[..., Any]:
    """The function of a source, loaded from the cache folder, or compiled and stored.

    Args:
        text: of its module, the header included.

    Raises:
        RefusedTextError: it is not compiled.
        EndedError: no process that compiles can be started.
    """
    found = kept.load(text)
    if found is None:
        found = kept.keep(text, _compiler.code_of(text))
    return found[0]
