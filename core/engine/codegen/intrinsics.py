"""Functions that kernels call, made of what generates their instructions of LLVM.

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
    """Makes a function of one that is given a builder and the arguments, and gives the result.

    Args:
        kind: the type of the result.
        names: of the arguments.
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
    """Call a function by itself, whose registers are allocated separately.

    Args:
        builder: of what calls it.
        name: of the function, which is written at its first call.
        arguments: numbers of 64 bits.
        write: given a builder and the arguments, generates its instructions.
        result: the type that it returns; None for nothing.
    """
    function = builder.module.globals.get(name)
    if function is None:
        kind = ir.FunctionType(result or ir.VoidType(), [_I64] * len(arguments))
        function = ir.Function(builder.module, kind, name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        write(ir.IRBuilder(function.append_basic_block("entry")), *function.args)
    return builder.call(function, arguments)
