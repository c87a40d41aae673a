"""While, also in stateless form: runs a function while another one returns true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.ops.functional.conditions import is_true
from pinnace.ops.opdef import GRADIENT_ABOVE, InferCall, OpDef, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array
    from pinnace.ops.running import RunContext

__all__: list[str] = []

# Iterations after which a table that could not run the loop is tried again.
_AGAIN = 1024


def _while_kernel(
    input: tuple[Array, ...], *, cond: Any, body: Any, ctx: RunContext
) -> tuple[Array, ...]:
    values: Sequence[Array]
    values, is_ended = ctx.finish(cond, body, input)
    if is_ended:
        return tuple(values)
    test = ctx.bind(cond)
    iterations = 0
    with np.errstate(all="ignore"):
        step = ctx.bind(body, values)
        while is_true(test(values)[0]):
            if ctx.cancelled:
                ctx.check()
            # A list of our own, with no other reference to its arrays: the iteration may overwrite
            # them.
            given, values = list(values), ()
            values = step(given)
            iterations += 1
            if not iterations % _AGAIN:
                values, is_ended = ctx.finish(cond, body, values)
                if is_ended:
                    break
                step = ctx.bind(body, values)  # the function may have been replaced
    return tuple(values)


def _infer_while(call: InferCall) -> tuple[Shape, ...]:
    specs = call.specs(0)
    given = call.attrs["output_shapes"]
    if len(given) == len(specs):
        return tuple(given)
    body = call.attrs["body"].graph
    if len(body.inputs) != len(specs) or len(body.outputs) != len(specs):
        call.fail(
            f"the body must take and return all {len(specs)} loop variables, "
            f"{body.name} takes {len(body.inputs)} and returns {len(body.outputs)}"
        )
    shapes = []
    for spec, argument, result in zip(specs, body.inputs, body.outputs, strict=True):
        if result.dtype is not spec.dtype:
            call.fail(f"a loop variable of {spec.dtype.name} became {result.dtype.name}")
        shapes.append(spec.shape if result is argument else argument.shape)
    return tuple(shapes)


def _while(name: str, effect: Any) -> OpDef:
    return define(
        name=name,
        signature="input: (T) -> output: (T)",
        attrs={
            "T": attr("list(type)", default=()),
            "cond": attr("func"),
            "body": attr("func"),
            "output_shapes": attr("list(shape)", default=()),
            "parallel_iterations": attr("int", default=10),
        },
        infer=_infer_while,
        kernel=_while_kernel,
        gradient=GRADIENT_ABOVE,  # functions/backward.py builds graphs for it
        effect=effect,
        runs="loop",
    )


WHILE = _while("While", "write")
STATELESS_WHILE = _while("StatelessWhile", None)
