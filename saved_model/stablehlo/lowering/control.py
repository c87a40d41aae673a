"""Loops, branches and calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.functions.control.conditional import cond, switch_case
from pinnace.functions.control.looping import while_loop
from pinnace.saved_model.stablehlo.lowering.elementwise import as_type
from pinnace.saved_model.stablehlo.lowering.operands import Operand, op
from pinnace.saved_model.stablehlo.lowering.origins import inputs_of, is_equal
from pinnace.saved_model.stablehlo.lowering.registry import LOWERINGS, Call, lowers
from pinnace.saved_model.stablehlo.lowering.row_products import ProductRows
from pinnace.saved_model.stablehlo.lowering.scans import scan_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.module import Block


@lowers("call", elementwise=False)
def lower_call(call: Call) -> Sequence[Operand]:
    """A call of a function of the module."""
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
    """A loop, whose body runs while its condition is true."""
    if not call.operands:
        call.refuse("a loop without variables would do nothing or never end")
    loop = _Loop(call, call.operation.region(0), call.operation.region(1))
    variables, shapes = loop.variables()
    results: Sequence[Tensor] = while_loop(
        lambda *xs: loop.goes_on(xs), lambda *xs: loop.turn(xs, shapes), variables, shapes
    )
    return loop.results(results)


class _Loop:
    """A loop under translation.

    Args:
        call: the op.
        condition: its first region.
        body: its second region.
    """

    def __init__(self, call: Call, condition: Block, body: Block) -> None:
        self._call, self._condition, self._body = call, condition, body
        self._operands = call.operands
        # None if the loop does not count.
        self._scan = scan_of(call.translation, condition, body, call.operands)
        self._written = {} if self._scan is None else self._scan.written
        self._products = {} if self._scan is None else self._scan.products
        # Variables that are lists -> the state that is the row of each iteration.
        self._states: dict[int, int] = {}

    def variables(self) -> tuple[list[Tensor], list[Shape]]:
        """The initial values of the loop variables, and their shape invariants."""
        found = [operand.full for operand in self._operands]
        shapes = [Shape(value.tensor.shape) for value in self._body.arguments]
        for place in self._written:
            assert self._scan is not None  # noqa: S101 - for mypy: it writes rows
            found[place], shapes[place] = self._scan.empty(self._operands[place]), Shape([])
        for place, product in self._products.items():
            found[place], shapes[place] = product.x, product.x.shape
        return found, shapes

    def goes_on(self, xs: Sequence[Tensor]) -> Tensor:
        """The condition's answer."""
        given = [self._given(self._condition, place, xs) for place in range(len(xs))]
        return self._call.translation.block(self._condition, given)[0].full

    def turn(self, xs: Sequence[Tensor], shapes: Sequence[Shape]) -> list[Tensor]:
        """The variables after an iteration."""
        given = [self._given(self._body, place, xs) for place in range(len(xs))]
        made = self._call.translation.block(self._body, given)
        found = [xs[k] if k in self._products else one.full for k, one in enumerate(made)]
        for place in self._written:
            written = inputs_of(found[place], "TensorListSetItem")
            states = [] if written is None else [is_equal(one, written[2]) for one in found]
            if any(states):
                self._states[place] = states.index(True)
        return [_of_shape(one, shape) for one, shape in zip(found, shapes, strict=True)]

    def _given(self, block: Block, place: int, xs: Sequence[Tensor]) -> Operand:
        """A variable as a region sees it."""
        scan, x = self._scan, xs[place]
        # Sizes are those of the first iteration: JAX's loop state has static shapes.
        shape = self._operands[place].shape
        if scan is not None and place in self._written:
            return scan.rows(x, shape, xs[scan.counter])
        if scan is not None and block is self._body and place in scan.counters:
            return scan.count(place, x)
        if place in self._products:
            return ProductRows(self._products[place], x, shape)
        return self._call.translation.argument(block.arguments[place], x, shape)

    def results(self, made: Sequence[Tensor]) -> list[Operand]:
        """The op's results."""
        found: list[Operand] = []
        for place, (one, operand) in enumerate(zip(made, self._operands, strict=True)):
            if self._scan is not None and place in self._written:
                state = self._states.get(place)
                last = None if state is None else made[state]
                found.append(self._scan.joined(place, one, operand, last))
            else:
                is_same = place in self._products
                found.append(operand if is_same else Operand(one, operand.shape))
        return found


def _of_shape(x: Tensor, shape: Shape) -> Tensor:
    """Return a loop variable with the sizes that the module knows and the tensor does not."""
    known = zip(x.shape, shape, strict=True)
    told = all(n is not None or wanted is None for n, wanted in known)
    return x if told else op("EnsureShape", x, shape=shape)


def _branch(call: Call, block: Block) -> Callable[[], Any]:
    return lambda: list(call.translation.tensors(block, ()))


@lowers("case")
def lower_case(call: Call) -> Sequence[Tensor]:
    """One of several branches; an index out of range selects the last."""
    if not call.operation.regions:
        call.refuse("it must have at least one branch")
    index = as_type(call.full(0), dtypes.int32)
    if not call.operation.results:
        call.refuse("branches without results are not translated, since they have effects")
    branches = [_branch(call, block) for block in call.operation.regions]
    results: Sequence[Tensor] = switch_case(index, branches)
    return results


@lowers("if")
def lower_if(call: Call) -> Sequence[Tensor]:
    """One of two branches."""
    holds, fails = (_branch(call, call.operation.region(index)) for index in range(2))
    results: Sequence[Tensor] = cond(call.full(0), holds, fails)
    return results
