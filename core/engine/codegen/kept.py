"""Machine code in the cache folder: loaded without Numba, in a few milliseconds.

A file has one kernel for one processor: the SHA-256 of its content, and an object file with the
kernel and its entry point (`entry_points`), which LLVM links into this process.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import threading
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnace.engine.ahead import calling, table
from pinnace.engine.ahead.trust import RefusedError, content_of, is_safe
from pinnace.engine.codegen import entry_points
from pinnace.framework import config
from pinnace.framework.errors import OpError
from pinnace.storage.atomic import write_file

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGEST_BYTES = 32
# Held while LLVM is imported, asked or links. A fork waits for it (`_hold`): the child would find
# LLVM, and Python's locks of a half imported module, as a thread that it does not have left them.
_llvm = threading.RLock()
# What Numba is told about the processor it compiles for.
_NUMBA_SETTINGS = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX", "NUMBA_OPT")


def folder() -> Path | None:
    """The folder for this version's kernels, created if necessary.

    None if it cannot be trusted, or if LLVM, which cached code needs, is missing.
    """
    base, version = config.settings.cache, _version()
    if base is None or version is None:
        return None
    found = base / "kernels" / version
    with contextlib.suppress(OSError):  # it may exist, read-only
        found.mkdir(mode=0o700, parents=True, exist_ok=True)
    return found if is_safe(found) else None


def load(text: str) -> tuple[Callable[..., Any], int] | None:
    """The function of a cached kernel, and its size in bytes; None if there is none.

    Args:
        text: of its module, the header included.
    """
    if not _is_anything_there():
        return None
    found = folder()
    path = None if found is None else found / _name(text)
    if path is None or not path.is_file() or not calling.can_call():
        return None
    with contextlib.suppress(RefusedError):
        content = content_of(path)
        code = content[_DIGEST_BYTES:]
        # A corrupt object file may crash the process.
        if hashlib.sha256(code).digest() == content[:_DIGEST_BYTES]:
            return _linked(code, symbol_of(text)), len(content)
    return None


def _is_anything_there() -> bool:
    """Whether any version has kept something; to say which one this is, LLVM has to be loaded."""
    base = config.settings.cache
    with contextlib.suppress(OSError):
        return base is not None and any((base / "kernels").iterdir())
    return False


def keep(text: str, code: bytes) -> tuple[Callable[..., Any], int]:
    """The function of an object file, which is kept; and its bytes, 0 if it cannot be kept.

    Args:
        text: of the kernel's module, the header included.
        code: what it was compiled to, with the entry point that belongs to the text.
    """
    content = hashlib.sha256(code).digest() + code
    found = folder()
    is_kept = False
    if found is not None and os.access(found, os.W_OK):
        with contextlib.suppress(OpError):
            write_file(found / _name(text), content)
            is_kept = True
    return _linked(code, symbol_of(text)), len(content) if is_kept else 0


def share() -> None:
    """Make the folder of this version's kernels readable for all users."""
    found = folder()
    if found is None:
        return
    for path in (found, *found.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def refused() -> Path | None:
    """The cache folder if machine code cannot be stored there; None if it can."""
    found = folder()
    if found is not None and os.access(found, os.W_OK):
        return None
    return config.settings.cache or Path()


def _name(text: str) -> str:
    return f"{symbol_of(text)}.kernel"


def symbol_of(text: str) -> str:
    """The name of the entry point of a kernel.

    Args:
        text: of its module, the header included.
    """
    return table.symbol_of(table.digest_of_text(text))


def _version() -> str | None:
    """A digest of everything that determines machine code besides its source, and the processor.

    None if llvmlite is missing or cannot be loaded.
    """
    with _llvm:
        return _found_version()


@functools.cache
def _found_version() -> str | None:
    try:
        from llvmlite import binding
    except (ImportError, OSError):
        return None

    try:
        numba = metadata.version("numba")
    except metadata.PackageNotFoundError:  # code cached by others is loaded
        numba = ""
    facts = [table.version(), numba, str(binding.llvm_version_info), sys.version]
    facts += [binding.get_process_triple(), binding.get_host_cpu_name()]
    facts += [binding.get_host_cpu_features().flatten()]
    facts += [os.environ.get(name, "") for name in _NUMBA_SETTINGS]
    digest = hashlib.sha256("\n".join(facts).encode())
    for name in (__file__, calling.__file__, entry_points.__file__):
        digest.update(Path(str(name)).read_bytes())
    return digest.hexdigest()[:16]


def in_llvm() -> threading.RLock:
    """The lock that all use of LLVM holds, and forks wait for."""
    return _llvm


@functools.cache
def machine() -> Any:
    """LLVM's description of this processor."""
    from llvmlite import binding

    with contextlib.suppress(RuntimeError):  # later versions do that automatically
        binding.initialize()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_triple(binding.get_process_triple())
    cpu, features = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=cpu, features=features, opt=2, jit=True)


@functools.cache
def linker() -> Any:
    """The LLVM engine that owns the loaded code."""
    from llvmlite import binding

    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine())


def _linked(code: bytes, symbol: str) -> Callable[..., Any]:
    """The entry point of an object file as a Python function."""
    with _llvm:
        from llvmlite import binding

        owner = linker()
        owner.add_object_file(binding.ObjectFileRef.from_data(code))
        owner.finalize_object()
        return calling.function_of(symbol, owner.get_global_value_address)


def _hold() -> None:
    _llvm.acquire()


def _release() -> None:
    _llvm.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)
