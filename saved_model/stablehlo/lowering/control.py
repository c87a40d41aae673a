"""Loops, branches and calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.functions.control.conditional import cond, switch_case
from pinnace.functions.control.looping import while_loop
from pinnace.saved_model.stablehlo.lowering.elementwise import as_type
from pinnace.saved_model.stablehlo.lowering.operands import Operand, op
from pinnace.saved_model.stablehlo.lowering.registry import LOWERINGS, Call, lowers
from pinnace.saved_model.stablehlo.lowering.scans import scan_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.module import Block


@lowers("call", elementwise=False)
def lower_call(call: Call) -> Sequence[Operand]:
    """A function of the module."""
    return call.translation.call(call.operation.text("callee"), call.operands)


@lowers("composite")
def lower_composite(call: Call) -> Sequence[Tensor | Operand] | Tensor | Operand:
    """An op outside StableHLO: by its name, otherwise by its decomposition."""
    own = LOWERINGS.get(f"composite {call.operation.text('name')}")
    if own is not None:
        return own(call)
    return call.translation.call(call.operation.text("decomposition"), call.operands)


@lowers("while")
def lower_while(call: Call) -> Sequence[Operand]:
    """A body while a condition is true."""
    condition, body = call.operation.region(0), call.operation.region(1)
    # Sizes are those of the first iteration: JAX's loop state has static shapes.
    sizes = [operand.shape for operand in call.operands]

    scan = scan_of(call.translation, condition, body, call.operands)
    written = {} if scan is None else scan.written

    def given(block: Block, xs: Sequence[Tensor]) -> list[Operand]:
        found: list[Operand] = []
        for place, (value, x) in enumerate(zip(block.arguments, xs, strict=True)):
            if scan is not None and place in written:
                found.append(scan.rows(x, sizes[place], xs[scan.counter]))
            elif scan is not None and block is body and place in scan.counters:
                found.append(scan.count(place, x))
            else:
                found.append(call.translation.argument(value, x, sizes[place]))
        return found

    def goes_on(*xs: Tensor) -> Tensor:
        return call.translation.block(condition, given(condition, xs))[0].full

    def turn(*xs: Tensor) -> list[Tensor]:
        found = [one.full for one in call.translation.block(body, given(body, xs))]
        return [_of_shape(one, shape) for one, shape in zip(found, shapes, strict=True)]

    shapes = [Shape(value.tensor.shape) for value in body.arguments]
    variables = [operand.full for operand in call.operands]
    if not variables:
        call.refuse("a loop without variables does nothing or never ends")
    if scan is not None:
        for place in written:
            variables[place], shapes[place] = scan.empty(call.operands[place]), Shape([])
    results: Sequence[Tensor] = while_loop(goes_on, turn, variables, shapes)
    return [
        scan.joined(place, one, operand)
        if scan is not None and place in written
        else Operand(one, operand.shape)
        for place, (one, operand) in enumerate(zip(results, call.operands, strict=True))
    ]


def _of_shape(x: Tensor, shape: Shape) -> Tensor:
    """A loop variable, of which the module knows sizes that the tensor does not tell."""
    known = zip(x.shape, shape, strict=True)
    told = all(n is not None or wanted is None for n, wanted in known)
    return x if told else op("EnsureShape", x, shape=shape)


def _branch(call: Call, block: Block) -> Callable[[], Any]:
    return lambda: list(call.translation.tensors(block, ()))


@lowers("case")
def lower_case(call: Call) -> Sequence[Tensor]:
    """One of several branches; an index out of range selects the last."""
    if not call.operation.regions:
        call.refuse("it has no branches")
    index = as_type(call.full(0), dtypes.int32)
    if not call.operation.results:
        call.refuse("branches without results have effects")
    branches = [_branch(call, block) for block in call.operation.regions]
    results: Sequence[Tensor] = switch_case(index, branches)
    return results


@lowers("if")
def lower_if(call: Call) -> Sequence[Tensor]:
    """One of two branches."""
    holds, fails = (_branch(call, call.operation.region(index)) for index in range(2))
    results: Sequence[Tensor] = cond(call.full(0), holds, fails)
    return results
