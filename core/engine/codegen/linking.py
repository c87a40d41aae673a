"""LLVM in this process: the processor it writes code for, and the linker that owns the code.

Only tables over scalars are given to it (`native_rows`).
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from typing import Any

# Held while LLVM is imported, asked or links. A fork waits for it (`_hold`): the child would find
# LLVM, and Python's locks of a half imported module, as a thread that it does not have left them.
_llvm = threading.RLock()


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


def _hold() -> None:
    _llvm.acquire()


def _release() -> None:
    _llvm.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)
