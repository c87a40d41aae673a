"""Compiles source to machine code in the background, cached on disk.

Numba takes 0.2 s to import and 0.5 s per kernel, so no call waits for it: a request returns at
once, and its function is None until a background thread has compiled it, or always if Numba is
missing. Machine code is stored in the cache folder (`kept`); the next process loads it in
milliseconds, without Numba.

Machine code is executed as stored, so a folder is trusted only if it belongs to the user or the
superuser, and nobody else may write to it. A read-only folder, as in an image filled by `pinnace
warmup`, is read.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import importlib.util
import os
import queue
import re
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pinnace.engine.ahead import reading
from pinnace.engine.codegen import kept
from pinnace.framework import config, denormals
from pinnace.ops.kernels import pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

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
        kept: set when it is in the cache folder, or never will be.
    """

    __slots__ = ("bytes", "done", "function", "is_new", "kept", "seconds", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.function: Callable[..., Any] | None = None
        self.done = threading.Event()
        self.kept = threading.Event()
        self.seconds = 0.0
        self.is_new = False
        self.bytes = 0


_kernels: dict[str, Kernel] = {}
_lock = threading.Lock()
_requests: queue.SimpleQueue[Kernel] = queue.SimpleQueue()
_thread: threading.Thread | None = None
# The number of requests that are pending.
_queued = 0
_leaving = False
_KNOWN_LLVM = range(15, 23)
# Why this process cannot compile.
failure: str | None = None


def request(text: str) -> Kernel:
    """The function `kernel` of a source, compiled once per process.

    Args:
        text: defines `kernel` with a signature decorator; may use NumPy and `codegen.mathematics`.
    """
    global _thread, _queued
    if config.settings.poison:
        text = _EMPTY.sub(lambda found: f"np.full({found[1]}, {_POISON[found[2]]})", text)
    with _lock:
        found = _kernels.get(text)
        if found is None:
            found = _kernels[text] = Kernel(text)
            # LLVM is serialised: while it compiles, a load would wait for seconds.
            if not _is_ahead(found) and (_queued or not _is_kept(found)):
                _queued += 1
                _requests.put(found)
                if _thread is None:
                    _thread = threading.Thread(target=_serve, name="pinnace-compiler", daemon=True)
                    with denormals.theirs():  # LLVM and Numba need subnormal numbers
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
    kernel.kept.set()
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
    kernel.kept.set()
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
    """Why nothing can be compiled in this process; None if no reason is known."""
    if failure is None and importlib.util.find_spec("numba") is None:
        return "Numba is not installed"
    return failure


def _forget() -> None:
    """After a fork there is no compiler thread: its pending requests are repeated on demand."""
    global _thread, _lock, _requests, _queued
    _lock = threading.Lock()
    _requests = queue.SimpleQueue()
    _thread, _queued = None, 0
    for text, kernel in list(_kernels.items()):
        kernel.kept.set()  # by the parent, if at all
        if kernel.function is None:
            del _kernels[text]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def prepare() -> None:
    """Make LLVM check more than eight pairs of arrays for overlap before a vector loop."""
    from llvmlite import binding

    # LLVM exits at an unknown option: set it only for versions that are known to have it.
    if binding.llvm_version_info[0] in _KNOWN_LLVM:
        binding.set_option("pinnace", "--runtime-memory-check-threshold=64")


def _leave_warnings_alone() -> None:
    """Prevent Numba from recording warnings in this thread.

    `warnings.catch_warnings` affects the whole process. While Numba infers types, a warning raised
    by the program in another thread would be recorded in Numba's list; and if two blocks end in the
    order in which they began, all later warnings would be too.
    """
    from numba.core.errors import WarningsFixer  # type: ignore[attr-defined] # its stubs lack it

    usual = WarningsFixer.catch_warnings
    compiles = threading.current_thread()

    @contextlib.contextmanager
    def catch_warnings(self: Any, *place: Any, **named: Any) -> Iterator[None]:
        if threading.current_thread() is compiles:
            yield
            return
        with usual(self, *place, **named):
            yield

    WarningsFixer.catch_warnings = catch_warnings


def _serve() -> None:
    global failure, _queued
    try:
        prepare()
        _leave_warnings_alone()
    except ImportError as error:
        failure = f"Numba cannot be imported: {error}"
    while True:
        kernel = _requests.get()
        if not _leaving and kernel.function is None:
            _make(kernel)
        kernel.done.set()
        kernel.kept.set()
        with _lock:
            _queued -= 1


def _make(kernel: Kernel) -> None:
    """Load a kernel, or compile and store it."""
    global failure
    if _is_kept(kernel) or failure is not None:
        return
    began = perf_counter()
    text = full_text(kernel.text)
    try:
        dispatcher = dispatcher_of(text)
    except ImportError as error:
        failure = f"Numba cannot be imported: {error}"
        return
    except Exception as error:
        errors[kernel.text] = f"{type(error).__name__}: {error}"
        return
    kernel.is_new = True
    kernel.seconds = perf_counter() - began
    _note_address(dispatcher)
    kernel.function = dispatcher
    kernel.done.set()
    kernel.bytes = kept.keep(text, dispatcher)


def _note_address(dispatcher: Any) -> None:
    """Publish the address of machine code, for callers without Python."""
    from pinnace.engine.codegen import alone

    with contextlib.suppress(alone.UnfitError):
        pieces.note(dispatcher, alone.address_of(dispatcher))


def _leave() -> None:
    """At exit, wait for the compiler: LLVM must not be running when its library is unloaded."""
    global _leaving
    _leaving = True
    for kernel in list(_kernels.values()):
        kernel.kept.wait(timeout=10)


atexit.register(_leave)


# Sources that Numba refused, and its messages: for developers of the code generator.
errors: dict[str, str] = {}


def function_of(text: str) -> Callable[..., Any]:
    """The function of a source, loaded from the cache folder, or compiled and stored.

    Args:
        text: of its module, the header included.
    """
    found = kept.load(text)
    if found is not None:
        return found[0]
    dispatcher = dispatcher_of(text)
    kept.keep(text, dispatcher)
    return dispatcher  # type: ignore[no-any-return]


def dispatcher_of(text: str) -> Any:
    """Numba's dispatcher for a source.

    Args:
        text: of its module, the header included.
    """
    name = "pinnace_kernel_" + hashlib.sha256(text.encode()).hexdigest()[:24]
    with tempfile.TemporaryDirectory() as scratch:
        # Numba needs source that it can read; its results are stored in our own format.
        path = Path(scratch) / f"{name}.py"
        path.write_text(text.replace("cache=True", "cache=False"))
        return _module_of(name, path).kernel


def _module_of(name: str, path: Path) -> ModuleType:
    """The module in a file, under this name."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module in {path}")
    module = importlib.util.module_from_spec(spec)
    # Numba looks a kernel's module up by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
