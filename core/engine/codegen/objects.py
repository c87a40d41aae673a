"""Kernels as object files, for the processor that Numba was told of.

Run as a program, since Numba compiles for one processor per process: `engine.ahead.writing` begins
it with NUMBA_CPU_NAME and NUMBA_CPU_FEATURES. The request is JSON on standard input, the answers
are lines of JSON on standard output, one for each kernel as it is made.

What Numba has compiled is taken from it as LLVM's optimised code: a process with Numba runs the
same. Only its addresses become relative. The functions around it that Python would call go.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from llvmlite import binding
from numba.core import types

from pinnace.engine.ahead import interface, table
from pinnace.engine.codegen import compiler

# What the libraries of C and of mathematics have, and LLVM may call by itself.
_C_FUNCTIONS = re.compile(
    "memcpy|memmove|memset|bcmp|memcmp|malloc|free|abs|"
    "(a?cosh?|a?sinh?|a?tanh?|atan2|cbrt|ceil|copysign|erfc?|exp2?|expm1|fabs|floor|fma|fmax|fmin|"
    "fmod|frexp|ldexp|lgamma|log|log10|log1p|log2|modf|nearbyint|pow|remainder|rint|round|"
    "roundeven|sincos|sqrt|tgamma|trunc)f?"
)


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


class _UnfitError(Exception):
    """A kernel that cannot stand alone; the message says why."""


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
        arguments = [_kind(one) for one in signature.args]
        results = _results(signature.return_type)
        content = _object(library, name, symbol_of(digest))
        file = f"{symbol_of(digest)}.o"
        (folder / file).write_bytes(content)
    except Exception as error:
        reason = (
            str(error) if isinstance(error, _UnfitError) else f"{type(error).__name__}: {error}"
        )
    return Answer(digest, perf_counter() - began, file, reason, arguments, results)


def _made(text: str) -> tuple[Any, str, Any]:
    """What Numba made of a text: its library, the function's name there, and the signature."""
    with tempfile.TemporaryDirectory() as folder:
        # Code that was kept is machine code already.
        own = text.replace("cache=True", "cache=False")
        name = "pinnace_object_" + table.digest_of_text(text)[:24]
        path = Path(folder) / f"{name}.py"
        path.write_text(own)
        kernel = compiler.module_of(name, path).kernel
    found = list(kernel.overloads.values())
    if len(found) != 1:
        raise _UnfitError(f"it has {len(found)} signatures")
    (result,) = found
    return result.library, result.fndesc.llvm_func_name, result.signature


def _kind(kind: Any) -> str:
    """An argument's kind, as the table has it."""
    if isinstance(kind, types.Array):
        if kind.layout not in "CA" or not kind.aligned:
            raise _UnfitError(f"an array of layout {kind.layout} cannot be handed over")
        return table.kind_of_array(_kind(kind.dtype), kind.ndim, kind.layout, kind.mutable)
    if isinstance(kind, types.Literal):
        return _kind(kind.literal_type)
    if not interface.is_known(str(kind)):
        raise _UnfitError(f"{kind} cannot be handed over")
    return str(kind)


def _results(kind: Any) -> list[str]:
    if isinstance(kind, types.NoneType):
        return []
    if isinstance(kind, types.BaseTuple):
        members: Any = kind  # Numba's stubs lack its iterator
        return [_kind(one) for one in members]
    return [_kind(kind)]


def _object(library: Any, name: str, symbol: str) -> bytes:
    """The function of a library, and what it calls, as a relocatable object."""
    if library.has_dynamic_globals:
        raise _UnfitError("it has addresses of this process in it")
    # A copy: the process may go on to run the original.
    module = binding.parse_assembly(library.get_llvm_str())
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name == name else "internal"
    function = module.get_function(name)
    function.name = symbol
    function.visibility = "hidden"
    target = binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        **_options(library)
    )
    _sweep(module, target)
    needed = [one.name for one in module.functions if one.is_declaration]
    needed += [one.name for one in module.global_variables if one.is_declaration]
    strange = [one for one in needed if not _is_there(one)]
    if strange:
        raise _UnfitError(f"it needs {', '.join(sorted(strange))} of Numba")
    return bytes(target.emit_object(module))


def _is_there(name: str) -> bool:
    """Whether a function is there without Numba."""
    is_own = name.startswith("llvm.") or name in interface.RUNTIME
    return is_own or _C_FUNCTIONS.fullmatch(name) is not None


def _options(library: Any) -> dict[str, Any]:
    """How LLVM is to write code: as it does for Numba, at whatever address."""
    _, cpu, features = library.codegen.magic_tuple()
    return {"cpu": cpu, "features": features, "opt": 3, "reloc": "pic", "codemodel": "default"}


def _sweep(module: Any, target: Any) -> None:
    """Let go of what the kernel does not reach: functions for Python, and what these need."""
    if hasattr(binding, "create_new_module_pass_manager"):
        passes = binding.create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        passes.add_strip_dead_prototype_pass()
        options = binding.create_pipeline_tuning_options(speed_level=3)
        passes.run(module, binding.create_pass_builder(target, options))
    else:
        passes = binding.create_module_pass_manager()
        passes.add_global_dce_pass()
        passes.add_strip_dead_prototypes_pass()
        passes.run(module)


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
