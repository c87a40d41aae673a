"""Kernels as object files, compiled by Numba in a process that does nothing else.

What Numba has compiled is taken from it as LLVM's optimised code, with an entry point for processes
that have no Numba (`alone`).

As a program it serves `engine.ahead.compiling`. Numba compiles for one processor per process: for
libraries, NUMBA_CPU_NAME and NUMBA_CPU_FEATURES say for which; a target on the command line says
what LLVM's code becomes an object file for, if that is another one. Each line of standard input is
a text as JSON, and standard output has the answers.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from llvmlite import binding

from pinnace.engine.ahead import table
from pinnace.engine.ahead.compiling import LENGTHS, Answer
from pinnace.engine.codegen import alone, retargeting

if TYPE_CHECKING:
    from types import ModuleType

    from pinnace.engine.codegen.retargeting import Target

_KNOWN_LLVM = range(15, 23)


def host() -> tuple[str, dict[str, bool]]:
    """LLVM's name of this processor, and its features."""
    return binding.get_host_cpu_name(), dict(binding.get_host_cpu_features())


def prepare() -> None:
    """Let LLVM test more arrays for overlap ahead of a vector loop than its eight pairs."""
    # LLVM ends the process at an option that it does not know: only where it was seen to.
    if binding.llvm_version_info[0] in _KNOWN_LLVM:
        binding.set_option("pinnace", "--runtime-memory-check-threshold=64")


def dispatcher_of(text: str) -> Any:
    """What Numba makes of a text.

    Args:
        text: of a kernel's module, the header included.
    """
    name = "pinnace_kernel_" + hashlib.sha256(text.encode()).hexdigest()[:24]
    with tempfile.TemporaryDirectory() as scratch:
        # Numba wants source that it can read; what it makes is kept in our own way.
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


def compiled(
    text: str, *, for_libraries: bool, other: Target | None = None, long_bytes: int = 8
) -> Answer:
    """A kernel's object file.

    Args:
        text: of its module, the header included.
        for_libraries: whether a linker makes a library of it, which is loaded at any address; LLVM
            loads it into a process otherwise.
        other: what it is for, if that is not what Numba compiles for.
        long_bytes: of C's `long` there.
    """
    symbol = table.symbol_of(text)
    began = perf_counter()
    code, reason = b"", ""
    try:
        dispatcher = dispatcher_of(text)
        own = _target(dispatcher) if for_libraries else None
        target = other.machine() if other else own
        code = alone.callable_object(dispatcher, symbol, target, other, long_bytes)
    except alone.UnfitError as error:
        reason = str(error)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    return Answer(code, perf_counter() - began, reason)


def _target(dispatcher: Any) -> Any:
    """The target machine: as for Numba, with position-independent code."""
    library, _, _ = alone.only(dispatcher)
    _, cpu, features = library.codegen.magic_tuple()
    return binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default"
    )


def main() -> None:
    """Answer the requests on standard input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for-libraries", action="store_true")
    parser.add_argument("--target", nargs=3, metavar=("TRIPLE", "CPU", "FEATURES"))
    parser.add_argument("--long-bytes", type=int, default=8)
    options = parser.parse_args()
    prepare()
    binding.initialize_native_asmprinter()
    other = retargeting.Target(*options.target) if options.target else None
    if other:
        retargeting.keep_plain()
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr  # what Numba may say is no answer
    for line in sys.stdin.buffer:
        answer = compiled(
            json.loads(line),
            for_libraries=options.for_libraries,
            other=other,
            long_bytes=options.long_bytes,
        )
        told = json.dumps({"seconds": answer.seconds, "reason": answer.reason}).encode()
        answers.write(LENGTHS.pack(len(told), len(answer.code)) + told + answer.code)
        answers.flush()
