"""Source text to a machine-code function, in the background, kept on disk.

Numba takes a fifth of a second to import and half a second for a kernel, so nobody waits for it: a
request returns at once, and its function is None until a thread of its own has made it, or for good
where Numba cannot be had. The text is written to the cache folder, where Numba keeps the machine
code beside it under the processor's name and features; the next process loads it in milliseconds.

The machine code is loaded as it lies there, so a folder counts only if it is the user's own or the
superuser's, and nobody else may write to it. One that the user may not write to either, as in an
image that `pinnace warmup` filled, is read: its files are copied to where Numba can open them.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import importlib.util
import os
import queue
import re
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pinnace.engine.ahead import reading
from pinnace.engine.ahead.trust import is_safe
from pinnace.framework import config, denormals

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

_HEADER = '''"""Written by pinnace.engine.codegen; it may be deleted."""

import numpy as np
from numba import njit, types
from numba.types import float32, int64, void
from pinnace.engine.codegen.mathematics import (
    erf, erfc, exp, expm1, flag_row, larger, maximum, minimum, plus, row, tanh, whole_vectors,
)

ROWS = types.Array(float32, 2, "A", readonly=True)
READ = types.Array(float32, 1, "C", readonly=True)
WRITTEN = types.Array(float32, 1, "C")
FLAG_ROWS = types.Array(types.boolean, 2, "A", readonly=True)
FLAGS = types.Array(types.boolean, 1, "C", readonly=True)
sqrt = np.sqrt
'''


# Memory of a kernel's own, and what stands in it where a test wants to see who reads it.
_EMPTY = re.compile(r"np\.empty\((.+), np\.(float32|int64)\)$", re.MULTILINE)
_POISON = {"float32": "np.float32(np.nan)", "int64": "np.int64(-0x5555555555555556)"}


class Kernel:
    """A requested function: None until it is made.

    Attributes:
        function: None where Numba refused the text, too.
        seconds: what it took to make or to load.
        is_new: whether it was compiled in this process; it lay in the cache folder otherwise.
        bytes: of its machine code in the cache folder; 0 where it is not kept.
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
_KNOWN_LLVM = range(15, 23)
# Why there is no compiled code in this process.
failure: str | None = None


def request(text: str) -> Kernel:
    """The function `kernel` of a text, made once per process.

    Args:
        text: defines `kernel`, decorated with a signature; sees NumPy and `codegen.mathematics`.
    """
    global _thread
    if config.settings.poison:
        text = _EMPTY.sub(lambda found: f"np.full({found[1]}, {_POISON[found[2]]})", text)
    with _lock:
        found = _kernels.get(text)
        if found is None:
            found = _kernels[text] = Kernel(text)
            if not _is_ahead(found):
                _requests.put(found)
                if _thread is None:
                    _thread = threading.Thread(target=_serve, name="pinnace-compiler", daemon=True)
                    with denormals.theirs():  # LLVM and Numba count with numbers of all sizes
                        _thread.start()
    return found


def _is_ahead(kernel: Kernel) -> bool:
    """Whether a kernel was compiled ahead; then it is there now."""
    function = reading.find(full_text(kernel.text))
    if function is None:
        return False
    kernel.function = function
    errors.pop(kernel.text, None)
    kernel.done.set()
    return True


def adopt() -> None:
    """Look for what could not be made so far among what was compiled ahead."""
    with _lock:
        for kernel in _kernels.values():
            if kernel.function is None:
                _is_ahead(kernel)


def full_text(text: str) -> str:
    """The text of the module that a kernel is made of."""
    return _HEADER + text


def requested() -> list[Kernel]:
    """All kernels that were asked for in this process, in order."""
    with _lock:
        return list(_kernels.values())


def missing() -> str | None:
    """Why nothing can be compiled in this process; None if nothing is known to be in the way."""
    if failure is None and importlib.util.find_spec("numba") is None:
        return "Numba is not installed"
    return failure


def _forget() -> None:
    """After a fork the thread is gone: what it had not made is asked for anew."""
    global _thread, _lock, _requests
    _lock = threading.Lock()
    _requests = queue.SimpleQueue()
    _thread = None
    for text in [text for text, kernel in _kernels.items() if kernel.function is None]:
        del _kernels[text]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def prepare() -> None:
    """Let LLVM test more arrays for overlap ahead of a vector loop than its eight pairs."""
    from llvmlite import binding

    # LLVM ends the process at an option that it does not know: only where it was seen to.
    if binding.llvm_version_info[0] in _KNOWN_LLVM:
        binding.set_option("pinnace", "--runtime-memory-check-threshold=64")


def _serve() -> None:
    global failure
    try:
        prepare()
    except ImportError as error:
        failure = f"Numba cannot be imported: {error}"
    while True:
        kernel = _requests.get()
        if failure is None and not _leaving and kernel.function is None:
            try:
                began = perf_counter()
                text = full_text(kernel.text)
                function = _load(text).kernel
                kernel.seconds = perf_counter() - began
                kernel.is_new = not function.stats.cache_hits
                kernel.bytes = _kept_bytes(text)
                kernel.function = function
            except ImportError as error:
                failure = f"Numba cannot be imported: {error}"
            except Exception as error:
                kernel.function = None
                errors[kernel.text] = f"{type(error).__name__}: {error}"
        kernel.done.set()


def _leave() -> None:
    """Before the interpreter ends: LLVM must not be at work while its library is taken down."""
    global _leaving
    _leaving = True
    for kernel in list(_kernels.values()):
        kernel.done.wait(timeout=10)


atexit.register(_leave)


# Texts that Numba refused, and what it said: for those who look after the code generator.
errors: dict[str, str] = {}


def _load(text: str) -> ModuleType:
    """The text as a module, from the cache folder if there is one."""
    name = _name(text)
    folder = _folder()
    is_kept = folder is not None and not os.access(folder, os.W_OK)
    if folder is not None and not is_kept:
        try:
            return module_of(name, _written(folder / f"{name}.py", text))
        except OSError:
            pass  # full or gone: without it then
    with tempfile.TemporaryDirectory() as scratch:
        # Numba wants source that it can read; without a folder it keeps nothing.
        path = Path(scratch) / f"{name}.py"
        if folder is not None and is_kept and _copied(folder, name, text, Path(scratch)):
            return module_of(name, path)
        path.write_text(text.replace("cache=True", "cache=False"))
        return module_of(name, path)


def _name(text: str) -> str:
    return "pinnace_kernel_" + hashlib.sha256(text.encode()).hexdigest()[:24]


def _code_files(folder: Path, name: str) -> list[Path]:
    """The files in which Numba keeps machine code, and its index of them."""
    found = (folder / "__pycache__").glob(f"{name}.*")
    return [path for path in found if path.suffix in {".nbi", ".nbc"}]


def _kept_bytes(text: str) -> int:
    folder = _folder()
    if folder is None:
        return 0
    try:
        return sum(path.stat().st_size for path in _code_files(folder, _name(text)))
    except OSError:
        return 0


def _copied(folder: Path, name: str, text: str, target: Path) -> bool:
    """Copy a kernel out of a folder that only others may write to; whether it is there.

    Numba opens machine code only where it could write some, and knows it by the source's content.
    """
    try:
        if (folder / f"{name}.py").read_text() != text:
            return False
        shutil.copyfile(folder / f"{name}.py", target / f"{name}.py")
        (target / "__pycache__").mkdir()
        for path in _code_files(folder, name):
            shutil.copyfile(path, target / "__pycache__" / path.name)
    except OSError:
        return False
    return True


def _written(path: Path, text: str) -> Path:
    """The file with this text; left alone if it is there, since Numba goes by its time."""
    if not path.exists() or path.read_text() != text:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            file.write(text)
        Path(file.name).replace(path)
    return path


def module_of(name: str, path: Path) -> ModuleType:
    """The module in a file, known by this name."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module in {path}")
    module = importlib.util.module_from_spec(spec)
    # Numba looks a kernel's module up by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _folder() -> Path | None:
    """The folder for this version's kernels, made if need be; None if it cannot be trusted."""
    base = config.settings.cache
    if base is None:
        return None
    folder = base / "kernels" / _version()
    with contextlib.suppress(OSError):  # it may be there all the same, and not ours to write to
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder if is_safe(folder) else None


def share_folder() -> None:
    """Let all users read the folder of this version's kernels, with what lies in it."""
    folder = _folder()
    if folder is None:
        return
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def refused_folder() -> Path | None:
    """The cache folder if machine code cannot be kept there; None if it can."""
    folder = _folder()
    if folder is not None and os.access(folder, os.W_OK):
        return None
    return config.settings.cache or Path()


def _version() -> str:
    """Changes with whatever the machine code is made from, beside its own text."""
    import numba  # type: ignore[import-not-found,unused-ignore] # no types, and it may be missing

    import pinnace.engine.codegen.activations as activations
    import pinnace.engine.codegen.atomics as atomics
    import pinnace.engine.codegen.digits as digits
    import pinnace.engine.codegen.mathematics as mathematics
    import pinnace.engine.codegen.products as products
    import pinnace.engine.codegen.register_tiles as tiles
    import pinnace.engine.codegen.scaled_rows as scaled_rows
    import pinnace.engine.codegen.vectors as vectors
    import pinnace.engine.codegen.winograd as winograd
    import pinnace.ops.kernels.special_functions as special_functions

    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    modules = (
        activations,
        atomics,
        digits,
        mathematics,
        products,
        scaled_rows,
        special_functions,
        tiles,
        vectors,
        winograd,
    )
    for module in modules:
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()[:16]
