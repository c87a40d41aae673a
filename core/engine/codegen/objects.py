"""Kernels as object files, for the processor that Numba was told of.

What Numba has compiled is taken from it as LLVM's optimised code: a process with Numba runs the
same (`alone`). Only its addresses become relative.

As a program it serves `engine.ahead.writing`, which begins it with NUMBA_CPU_NAME and
NUMBA_CPU_FEATURES, since Numba compiles for one processor per process. The request is JSON on
standard input, the answers are lines of JSON on standard output, one for each kernel as it is made.
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
    """What became of a kernel.

    Attributes:
        digest: of its text.
        seconds: that it took.
        file: the object's name; None if there is none.
        reason: why there is none.
        arguments: see `table.Entry`.
        results: see `table.Entry`.
    """

    digest: str
    seconds: float
    file: str | None
    reason: str
    arguments: list[str]
    results: list[str]


def host() -> tuple[str, dict[str, bool]]:
    """LLVM's name of this processor, and which features it has."""
    return binding.get_host_cpu_name(), dict(binding.get_host_cpu_features())


def symbol_of(digest: str) -> str:
    """A kernel's name in its library."""
    return f"pinnace_{digest[:24]}"


def compiled(text: str, folder: Path) -> Answer:
    """A kernel's object file, in a folder.

    Args:
        text: of its module, the header included.
        folder: for `SYMBOL.o`.
    """
    digest = table.digest_of_text(text)
    began = perf_counter()
    arguments: list[str] = []
    results: list[str] = []
    file, reason = None, ""
    try:
        library, name, signature = _made(text)
        arguments = [alone.kind_of(one) for one in signature.args]
        results = alone.results_of(signature.return_type)
        content = _object(library, name, symbol_of(digest))
        file = f"{symbol_of(digest)}.o"
        (folder / file).write_bytes(content)
    except Exception as error:
        reason = (
            str(error)
            if isinstance(error, alone.UnfitError)
            else f"{type(error).__name__}: {error}"
        )
    return Answer(digest, perf_counter() - began, file, reason, arguments, results)


def _made(text: str) -> tuple[Any, str, Any]:
    """What Numba made of a text: its library, the function's name there, and the signature."""
    return alone.only(compiler.dispatcher_of(text))


def _object(library: Any, name: str, symbol: str) -> bytes:
    """The function of a library, and what it calls, as a relocatable object."""
    module = alone.module_of(library, name, symbol)
    module.get_function(symbol).visibility = "hidden"
    target = binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        **_options(library)
    )
    alone.sweep(module, target)
    alone.refuse_strange(module)
    return bytes(target.emit_object(module))


def _options(library: Any) -> dict[str, Any]:
    """How LLVM is to write code: as it does for Numba, at whatever address."""
    _, cpu, features = library.codegen.magic_tuple()
    return {"cpu": cpu, "features": features, "opt": 3, "reloc": "pic", "codemodel": "default"}


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    compiler.prepare()
    binding.initialize_native_asmprinter()
    answers = sys.stdout
    sys.stdout = sys.stderr  # what Numba may say is no answer
    for text in request["texts"]:
        answer = compiled(text, Path(request["folder"]))
        answers.write(json.dumps(answer._asdict()) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
