"""Machine code in the cache folder: loaded without Numba, in a few milliseconds.

A file holds one kernel for one processor: the SHA-256 of what follows, and an object file with the
kernel and its entry point (`entry_points`), which LLVM links into this process.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.ahead import table
from pinnace.engine.ahead.trust import RefusedError, content_of, is_safe
from pinnace.engine.codegen import entry_points
from pinnace.framework import config
from pinnace.framework.errors import OpError
from pinnace.ops.kernels import pieces
from pinnace.storage.atomic import write_file

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGEST_BYTES = 32
_FAST_CALL = 0x80  # METH_FASTCALL
# What Numba is told about the processor it compiles for.
_NUMBA_SETTINGS = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX", "NUMBA_OPT")


class _Method(ctypes.Structure):
    """Python's `PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


# Functions refer to these for as long as they are there, and so for ever.
_methods: list[_Method] = []


def folder() -> Path | None:
    """The folder for this version's kernels, made if need be.

    None if it cannot be trusted, or if LLVM is not there (any more), which all that is kept needs.
    """
    base, version = config.settings.cache, _version()
    if base is None or version is None:
        return None
    found = base / "kernels" / version
    with contextlib.suppress(OSError):  # it may be there all the same, and not ours to write to
        found.mkdir(mode=0o700, parents=True, exist_ok=True)
    return found if is_safe(found) else None


def load(text: str) -> tuple[Callable[..., Any], int] | None:
    """The function of a kernel that was kept, and its bytes; None if there is none.

    Args:
        text: of its module, the header included.
    """
    found = folder()
    path = None if found is None else found / _name(text)
    if path is None or not path.is_file() or not _can_call():
        return None
    with contextlib.suppress(RefusedError):
        content = content_of(path)
        code = content[_DIGEST_BYTES:]
        # A damaged object may end the process.
        if hashlib.sha256(code).digest() == content[:_DIGEST_BYTES]:
            return _linked(code, _symbol(text)), len(content)
    return None


def keep(text: str, dispatcher: Any) -> int:
    """Keep what Numba has compiled; its bytes, 0 if it cannot be kept.

    Args:
        text: of its module, the header included.
        dispatcher: Numba's, with one signature.
    """
    found = folder()
    if found is None or not os.access(found, os.W_OK) or not _can_call():
        return 0
    from pinnace.engine.codegen import alone

    try:
        code = alone.callable_object(dispatcher, _symbol(text))
        content = hashlib.sha256(code).digest() + code
        write_file(found / _name(text), content)
    except (alone.UnfitError, OpError):
        return 0
    return len(content)


def share() -> None:
    """Let all users read the folder of this version's kernels, with what lies in it."""
    found = folder()
    if found is None:
        return
    for path in (found, *found.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def refused() -> Path | None:
    """The cache folder if machine code cannot be kept there; None if it can."""
    found = folder()
    if found is not None and os.access(found, os.W_OK):
        return None
    return config.settings.cache or Path()


def _name(text: str) -> str:
    return f"{_symbol(text)}.kernel"


def _symbol(text: str) -> str:
    return "pinnace_" + table.digest_of_text(text)[:24]


@functools.cache
def _version() -> str | None:
    """Changes with whatever machine code is made from, beside its own text, and the processor.

    None where llvmlite is missing, or cannot be loaded.
    """
    try:
        from llvmlite import binding
    except (ImportError, OSError):
        return None

    try:
        numba = metadata.version("numba")
    except metadata.PackageNotFoundError:  # what others have kept is read
        numba = ""
    facts = [table.version(), numba, str(binding.llvm_version_info), sys.version]
    facts += [binding.get_process_triple(), binding.get_host_cpu_name()]
    facts += [binding.get_host_cpu_features().flatten()]
    facts += [os.environ.get(name, "") for name in _NUMBA_SETTINGS]
    digest = hashlib.sha256("\n".join(facts).encode())
    for name in (__file__, entry_points.__file__):
        digest.update(Path(str(name)).read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def _linker() -> Any:
    """The engine of LLVM that holds what was loaded."""
    from llvmlite import binding

    with contextlib.suppress(RuntimeError):  # later versions do that by themselves
        binding.initialize()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        jit=True
    )
    return binding.create_mcjit_compiler(binding.parse_assembly(""), target)


def _linked(code: bytes, symbol: str) -> Callable[..., Any]:
    """The entry point of an object file, as a function of Python."""
    from llvmlite import binding

    linker = _linker()
    linker.add_object_file(binding.ObjectFileRef.from_data(code))
    linker.finalize_object()
    errors = linker.get_global_value_address(entry_points.errors_of(symbol))
    places = (ctypes.c_void_p * len(entry_points.ERRORS)).from_address(errors)
    places[:] = [id(one) for one in entry_points.ERRORS]
    method = _Method(symbol.encode(), linker.get_function_address(symbol), _FAST_CALL, None)
    _methods.append(method)
    make = ctypes.pythonapi["PyCFunction_NewEx"]
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    make.restype = ctypes.py_object
    function: Callable[..., Any] = make(ctypes.addressof(method), np.ndarray, None)
    pieces.note(function, linker.get_function_address(entry_points.kernel_of(symbol)))
    return function


@functools.cache
def _can_call() -> bool:
    """Whether arrays of this Python and NumPy have their fields where entry points look."""
    words = ctypes.sizeof(ctypes.c_void_p)
    if sys.implementation.name != "cpython" or words != 8 or object.__basicsize__ != 16:
        return False
    whole = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
    fixed = whole[1:, ::2]
    fixed.flags.writeable = False
    arrays = (whole, fixed, np.zeros(7, np.int64), np.zeros((3, 0), np.uint8), np.zeros(2, ">f4"))
    return all(_is_laid_out(one) for one in arrays)


def _is_laid_out(array: np.ndarray[Any, Any]) -> bool:
    def word(base: int, offset: int) -> int:
        return ctypes.c_void_p.from_address(base + offset).value or 0

    def number(base: int, offset: int) -> int:
        return ctypes.c_int.from_address(base + offset).value

    at, places = id(array), entry_points
    sizes = (ctypes.c_int64 * array.ndim).from_address
    flags = array.flags
    bits = 1 * flags.c_contiguous + 0x100 * flags.aligned + 0x400 * flags.writeable
    kind = word(at, places.DTYPE)
    return (
        word(at, places.TYPE) == id(np.ndarray)
        and number(at, places.RANK) == array.ndim
        and word(at, places.DATA) == array.ctypes.data
        and tuple(sizes(word(at, places.SHAPE))) == array.shape
        and tuple(sizes(word(at, places.STEPS))) == array.strides
        and number(at, places.FLAGS) & 0x501 == bits
        and kind == id(array.dtype)
        and number(kind, places.NUMBER) == array.dtype.num
        and ctypes.c_char.from_address(kind + places.ORDER).value.decode() == array.dtype.byteorder
    )
