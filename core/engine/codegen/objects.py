"""Kernels as LLVM's code, compiled by Numba in a process that does nothing else, and linked there.

Numba's result is extracted as LLVM's optimised code, with an entry point for processes that have no
Numba (`alone`). Kernels have functions in common, such as products of tiles: the object file of a
library has equal ones once.

As a program it serves `engine.ahead.compiling`. Numba compiles for one processor per process, which
NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name; a target on the command line says what the object file
is for, if that is another one. Each line of standard input is a request as JSON, a kernel's text or
the list of files with the code of kernels, and standard output has the answers.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llvmlite import binding
from numba.core.registry import cpu_target

from pinnace.engine.ahead import table
from pinnace.engine.ahead.compiling import LENGTHS, Answer
from pinnace.engine.codegen import alone, retargeting

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from pinnace.engine.codegen.retargeting import Target

_KNOWN_LLVM = range(15, 23)


def host() -> tuple[str, dict[str, bool]]:
    """LLVM's name of this processor, and its features."""
    return binding.get_host_cpu_name(), dict(binding.get_host_cpu_features())


def prepare() -> None:
    """Let LLVM test more arrays for overlap ahead of a vector loop than its eight pairs."""
    # LLVM ends the process at an unknown option: set it only in versions known to have it.
    if binding.llvm_version_info[0] in _KNOWN_LLVM:
        binding.set_option("pinnace", "--runtime-memory-check-threshold=64")


def dispatcher_of(text: str) -> Any:
    """Numba's dispatcher of a kernel.

    Args:
        text: the source of the kernel's module, including the header.
    """
    name = "pinnace_kernel_" + hashlib.sha256(text.encode()).hexdigest()[:24]
    with tempfile.TemporaryDirectory() as scratch:
        # Numba requires a file with the source; its results are stored by us, not in its cache.
        path = Path(scratch) / f"{name}.py"
        path.write_text(text.replace("cache=True", "cache=False"))
        return _module_of(name, path).kernel


def _module_of(name: str, path: Path) -> ModuleType:
    """The module in a file, known by this name."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module in {path}")
    module = importlib.util.module_from_spec(spec)
    # Numba looks a kernel's module up by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def compiled(text: str, other: Target | None = None, long_bytes: int = 8) -> Answer:
    """A kernel as LLVM's code, packed.

    Args:
        text: the source of the kernel's module, including the header.
        other: the target, if Numba compiles for another one.
        long_bytes: the size of C's `long` there.
    """
    code, reason = b"", ""
    try:
        dispatcher, symbol = dispatcher_of(text), table.symbol_of(text)
        module = alone.callable_module(dispatcher, symbol, _machine(other), other, long_bytes)
        code = module.as_bitcode()
    except alone.UnfitError as error:
        reason = str(error)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    return Answer(code, reason)


def joined(files: Sequence[str], other: Target | None = None) -> Answer:
    """The object file of several kernels.

    Args:
        files: paths of their code.
        other: see `compiled`.
    """
    machine = _machine(other)
    module, *others = (binding.parse_bitcode(Path(file).read_bytes()) for file in files)
    for one in others:
        module.link_in(one)
    passes = binding.create_new_module_pass_manager()
    passes.add_constant_merge_pass()  # functions that read equal constants are not yet equal
    passes.add_merge_functions_pass()
    passes.run(
        module, binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
    )
    return Answer(bytes(machine.emit_object(module)), "")


def _machine(other: Target | None) -> Any:
    """The target machine: the other target's, or Numba's with position-independent code."""
    if other:
        return other.machine()
    _, cpu, features = cpu_target.target_context.codegen().magic_tuple()
    return binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default"
    )


def main() -> None:
    """Answer the requests on standard input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", nargs=3, metavar=("TRIPLE", "CPU", "FEATURES"))
    parser.add_argument("--long-bytes", type=int, default=8)
    options = parser.parse_args()
    prepare()
    binding.initialize_native_asmprinter()
    other = retargeting.Target(*options.target) if options.target else None
    if other:
        retargeting.keep_plain()
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr  # Numba's output must not be among the answers
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        if isinstance(asked, str):
            answer = compiled(asked, other, options.long_bytes)
        else:
            answer = joined(asked, other)
        told = json.dumps({"reason": answer.reason}).encode()
        answers.write(LENGTHS.pack(len(told), len(answer.code)) + told + answer.code)
        answers.flush()
