"""Functions that kernels call, from Python code that generates their LLVM instructions.

Importing this module imports Numba.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_I64 = ir.IntType(64)


def generated(kind: Any, names: str = "") -> Callable[[Callable[..., Any]], Any]:
    """A decorator: makes a function of its generator, which takes a builder and the arguments.

    Args:
        kind: the type of the result.
        names: names of the arguments.
    """
    own = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(x, own) for x in ("context", *names.split())])

    def made(generate: Callable[..., Any]) -> Any:
        def typed(_: Any, *arguments: Any) -> Any:
            return kind(*arguments), generating

        def generating(compiled: Any, builder: Any, _: Any, arguments: Any) -> Any:
            found = generate(builder, *arguments)
            return compiled.get_dummy_value() if kind is types.void else found

        typed.__signature__ = signature  # type: ignore[attr-defined] # Numba reads it
        return intrinsic(typed)

    return made


def call_own(
    builder: Any,
    name: str,
    arguments: Sequence[Any],
    write: Callable[..., object],
    result: Any = None,
) -> Any:
    """Call a separate function, whose registers are allocated on their own.

    Args:
        builder: the caller's builder.
        name: the function's name; it is generated at its first call.
        arguments: 64-bit numbers.
        write: generates its instructions, given a builder and the arguments.
        result: the type of its result; None for nothing.
    """
    function = builder.module.globals.get(name)
    if function is None:
        kind = ir.FunctionType(result or ir.VoidType(), [_I64] * len(arguments))
        function = ir.Function(builder.module, kind, name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        write(ir.IRBuilder(function.append_basic_block("entry")), *function.args)
    return builder.call(function, arguments)
