"""Reductions over whole axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.functions.control.looping import while_loop
from pinnace.saved_model.stablehlo.lowering.elementwise import as_type, widened
from pinnace.saved_model.stablehlo.lowering.kept_axes import reduced
from pinnace.saved_model.stablehlo.lowering.operands import Operand, constant, op, size_tensor
from pinnace.saved_model.stablehlo.lowering.regions import joined_with, reducer_of
from pinnace.saved_model.stablehlo.lowering.registry import Call, lowers
from pinnace.saved_model.stablehlo.lowering.shapes import transposed
from pinnace.saved_model.stablehlo.lowering.units import core_of, placed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.module import Block

_WHOLE = {
    "add": "Sum",
    "multiply": "Prod",
    "maximum": "Max",
    "minimum": "Min",
    "and": "All",
    "or": "Any",
}
# An axis with at most this many elements is reduced element by element, in order: a region that is
# not associative then gives the same as elsewhere.
_MOST_UNROLLED = 16


@lowers("reduce")
def lower_reduce(call: Call) -> Sequence[Tensor | Operand]:
    """Reduce axes with a region, in an unspecified order."""
    axes = sorted(call.operation.integers("dimensions"))
    count = len(call.operands) // 2
    block = call.operation.region()
    if len(call.operands) != 2 * count or not count:
        call.refuse("it must have an initial value for each operand")
    xs, starts = call.operands[:count], call.operands[count:]
    if len(set(axes)) != len(axes) or any(not 0 <= axis < xs[0].rank for axis in axes):
        call.refuse(f"axes {axes} must be unique axes of its operand")
    kind = reducer_of(block) if count == 1 else None
    kept = [n for axis, n in enumerate(xs[0].shape) if axis not in axes]
    if kind in _WHOLE:
        x, own = core_of(xs[0]) or (xs[0].full, tuple(range(xs[0].rank)))
        if not set(axes) <= set(own):
            x, own = xs[0].full, tuple(range(xs[0].rank))
        total = widened(x)
        if axes:
            total = reduced(_WHOLE[kind], total, [own.index(axis) for axis in axes])
        total = joined_with(kind, as_type(total, xs[0].dtype), starts[0])
        left = [axis for axis in range(xs[0].rank) if axis not in axes]
        return [placed(total, [left.index(axis) for axis in own if axis not in axes], kept)]
    order = [*axes, *(axis for axis in range(xs[0].rank) if axis not in axes)]
    ys = [transposed(x, order) for x in xs]
    for _ in axes:
        ys = _over_first(call, block, ys)
    rows = [
        Operand(start.full, y.shape, frozenset(range(y.rank)))
        for start, y in zip(starts, ys, strict=True)
    ]
    return call.translation.on_arrays(block, [*rows, *ys])


def _over_first(call: Call, block: Block, xs: Sequence[Operand]) -> list[Operand]:
    """Reduce the first axis by joining halves, in which neighbours stay neighbours."""
    size = xs[0].shape[0]
    rest = xs[0].shape[1:]
    if not isinstance(size, int):
        return _in_turn(call, block, xs)
    if size == 0:
        call.refuse("an axis of size 0 is not reduced by an arbitrary region")
    tensors = [x.full for x in xs]
    if size <= _MOST_UNROLLED:
        joined = [Operand(x[0], rest) for x in tensors]
        for index in range(1, size):
            more = [Operand(x[index], rest) for x in tensors]
            joined = call.translation.on_arrays(block, [*joined, *more])
        return joined
    while size > 1:
        half = size // 2
        shape = (half, *rest)
        even = [Operand(x[0 : 2 * half : 2], shape) for x in tensors]
        odd = [Operand(x[1 : 2 * half : 2], shape) for x in tensors]
        pairs = [one.full for one in call.translation.on_arrays(block, [*even, *odd])]
        if size % 2:
            pairs = [
                op("ConcatV2", [one, x[size - 1 : size]], 0)
                for one, x in zip(pairs, tensors, strict=True)
            ]
        tensors, size = pairs, half + size % 2
    return [Operand(x[0], rest) for x in tensors]


def _in_turn(call: Call, block: Block, xs: Sequence[Operand]) -> list[Operand]:
    """Reduce a first axis of unknown size, one element after the other."""
    tensors = [x.full for x in xs]
    size, rest = size_tensor(xs[0].shape[0]), xs[0].shape[1:]

    def turn(index: Tensor, *joined: Tensor) -> list[Tensor]:
        before = [Operand(one, rest) for one in joined]
        after = [Operand(op("GatherV2", x, index, 0), rest) for x in tensors]
        found = call.translation.on_arrays(block, [*before, *after])
        return [op("AddV2", index, constant(1, dtypes.int32)), *(one.full for one in found)]

    first = [x[0] for x in tensors]
    variables = [constant(1, dtypes.int32), *first]
    shapes = [Shape(()), *(x.shape for x in first)]
    done = while_loop(lambda index, *_: op("Less", index, size), turn, variables, shapes)
    return [Operand(one, rest) for one in done[1:]]
