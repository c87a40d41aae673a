"""Kernels as object files, for the processor that Numba was configured for.

The optimised LLVM code is taken from Numba: a process with Numba runs the same (`alone`). Only the
relocation model differs.

Run as a program, it serves `engine.ahead.writing`, which sets NUMBA_CPU_NAME and
NUMBA_CPU_FEATURES, since Numba compiles for one processor per process, and passes a folder for the
objects. Each line of standard input is a source as JSON, each line of standard output the answer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from llvmlite import binding

from pinnace.engine.ahead import table
from pinnace.engine.codegen import alone, compiler


class Answer(NamedTuple):
    """The result for a kernel.

    Attributes:
        digest: of its source.
        seconds: to compile.
        reason: why there is no object file; empty if there is one.
    """

    digest: str
    seconds: float
    reason: str


def host() -> tuple[str, dict[str, bool]]:
    """LLVM's name of this processor, and its features."""
    return binding.get_host_cpu_name(), dict(binding.get_host_cpu_features())


def compiled(text: str, folder: Path) -> Answer:
    """A kernel's object file, written to a folder.

    Args:
        text: of its module, the header included.
        folder: for `SYMBOL.o`.
    """
    digest = table.digest_of_text(text)
    symbol = table.symbol_of(digest)
    began = perf_counter()
    reason = ""
    try:
        dispatcher = compiler.dispatcher_of(text)
        content = alone.callable_object(dispatcher, symbol, _target(dispatcher))
        (folder / f"{symbol}.o").write_bytes(content)
    except alone.UnfitError as error:
        reason = str(error)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    return Answer(digest, perf_counter() - began, reason)


def _target(dispatcher: Any) -> Any:
    """The target machine: as for Numba, with position-independent code."""
    library, _, _ = alone.only(dispatcher)
    _, cpu, features = library.codegen.magic_tuple()
    return binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default"
    )


def main() -> None:
    """Answer the requests on standard input."""
    folder = Path(sys.argv[1])
    compiler.prepare()
    binding.initialize_native_asmprinter()
    answers = sys.stdout
    sys.stdout = sys.stderr  # Numba's messages are not answers
    for line in sys.stdin:
        answer = compiled(json.loads(line), folder)
        answers.write(json.dumps(answer._asdict()) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
