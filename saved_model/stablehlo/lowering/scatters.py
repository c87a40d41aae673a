"""Slices scattered to positions given by a tensor, and combined with existing values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.functions.control.looping import while_loop
from pinnace.saved_model.stablehlo.lowering.indices import Indices, check_axes, with_axes
from pinnace.saved_model.stablehlo.lowering.operands import (
    Operand,
    constant,
    count_of,
    op,
    reshaped,
    shape_tensor,
)
from pinnace.saved_model.stablehlo.lowering.regions import reducer_of
from pinnace.saved_model.stablehlo.lowering.registry import Call, lowers
from pinnace.saved_model.stablehlo.lowering.shapes import transposed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.lowering.operands import Dim
    from pinnace.saved_model.stablehlo.module import Block

_KINDS = {
    "second": "TensorScatterUpdate",
    "add": "TensorScatterAdd",
    "maximum": "TensorScatterMax",
    "minimum": "TensorScatterMin",
}


@lowers("scatter")
def lower_scatter(call: Call) -> Sequence[Operand]:
    """Each slice of the updates is scattered to its position; a slice out of bounds is skipped."""
    operation, count = call.operation, len(call.operands) // 2
    if len(call.operands) != 2 * count + 1 or not count:
        call.refuse("it must have updates for each operand")
    xs, updates = call.operands[:count], call.operands[count + 1 :]
    indices = Indices(call, call.operand(count), operation.integer("index_vector_dim"))
    inserted = operation.integers("inserted_window_dims")
    batching = operation.optional_integers("input_batching_dims")
    mapped = operation.integers("scatter_dims_to_operand_dims")
    windows = operation.integers("update_window_dims")
    along = [
        indices.batch_axis(axis)
        for axis in operation.optional_integers("scatter_indices_batching_dims")
    ]
    rank = xs[0].rank
    check_axes(call, rank, inserted, batching)
    check_axes(call, rank, mapped, batching)
    check_axes(call, updates[0].rank, windows)
    check_axes(call, len(indices.batch), along)
    kept = [axis for axis in range(rank) if axis not in inserted and axis not in batching]
    if len(mapped) != indices.length or len(kept) != len(windows) or len(along) != len(batching):
        call.refuse("its updates do not match its operand")
    order = [*(n for n in range(updates[0].rank) if n not in windows), *windows]
    turned = [transposed(one, order) for one in updates]
    window = dict(zip(kept, turned[0].shape[len(indices.batch) :], strict=True))
    block = operation.region()
    kind = reducer_of(block) if count == 1 else None
    whole = kept == list(range(1, rank)) and all(window[n] == xs[0].shape[n] for n in kept)
    if kind in _KINDS and list(mapped) == [0] and not batching and whole and _takes(kind, xs[0]):
        return [_rows(xs[0], indices, turned[0], _KINDS[kind])]
    places = _places(call, xs[0], indices, window, (mapped, batching, along, kept))
    full = shape_tensor(turned[0].shape)
    flat = op("Reshape", op("BroadcastTo", places, full), [-1])
    size = call.translation.sizes.total("multiply", xs[0].shape, 1)
    # Elements out of bounds go to an extra element, which is removed at the end.
    content = [_with_one_more(op("Reshape", x.full, [-1])) for x in xs]
    given = [op("Reshape", one.full, [-1]) for one in turned]
    found = put(call, block, content, flat, given, unique=operation.flag("unique_indices"))
    return [
        Operand(reshaped(op("Slice", one, [0], shape_tensor([size])), x.shape), x.shape)
        for one, x in zip(found, xs, strict=True)
    ]


def _takes(kind: str | None, x: Operand) -> bool:
    return kind == "second" or x.dtype is not dtypes.bool


def _with_one_more(flat: Tensor) -> Tensor:
    return op("ConcatV2", [flat, constant([0], flat.dtype)], 0)


def _rows(x: Operand, indices: Indices, updates: Operand, tensorflow_op: str) -> Operand:
    """Full rows by index, as in TensorFlow's op, except for rows out of bounds."""
    size = indices.size(x.shape[0])
    place = indices.component(0)
    below = op("Less", place, constant(0, place.dtype))
    beyond = op("LogicalOr", below, op("GreaterEqual", place, size))
    place = with_axes(op("SelectV2", beyond, size, place), 1)
    last = op("Fill", shape_tensor([1, *x.shape[1:]]), constant(0, x.dtype))
    longer = op("ConcatV2", [x.full, last], 0)
    found = op(tensorflow_op, longer, place, updates.full)
    return Operand(op("Slice", found, [0] * x.rank, shape_tensor(x.shape)), x.shape)


def _places(
    call: Call,
    x: Operand,
    indices: Indices,
    window: dict[int, Dim],
    axes: tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]],
) -> Tensor:
    """The flat index of each element of the updates; the size if out of bounds."""
    mapped, batching, along, kept = axes
    sizes = call.translation.sizes
    total = count_of(x.shape)
    if total is None or total >= 1 << 31:
        indices = indices.wide()
    place, within = constant(0, indices.dtype), None
    stride: Dim = 1
    for axis in reversed(range(x.rank)):
        step = None
        if axis in mapped:
            step = indices.component(mapped.index(axis))
            most = sizes.combined("subtract", x.shape[axis], window.get(axis, 1))
            limit = indices.size(-1 if most is None else most)
            good = op(
                "LogicalAnd",
                op("GreaterEqual", step, constant(0, step.dtype)),
                op("LessEqual", step, limit),
            )
            within = good if within is None else op("LogicalAnd", within, good)
        elif axis in batching:
            batch_axis = along[batching.index(axis)]
            size = indices.batch[batch_axis]
            step = indices.counted(size, batch_axis, len(indices.batch))
        if step is not None:
            step = with_axes(step, len(kept))
        if axis in kept:
            counted = indices.counted(window[axis], kept.index(axis), len(kept))
            step = counted if step is None else op("AddV2", step, counted)
        if step is not None:
            place = op("AddV2", place, op("Mul", step, indices.size(stride)))
        more = sizes.combined("multiply", stride, x.shape[axis])
        stride = stride if more is None else more
    if within is None:
        return place
    return op("SelectV2", with_axes(within, len(kept)), place, indices.size(stride))


def put(
    call: Call,
    block: Block,
    content: Sequence[Tensor],
    places: Tensor,
    updates: Sequence[Tensor],
    *,
    unique: bool,
) -> list[Tensor]:
    """Vectors with elements at indices combined with updates, by a region."""
    kind = reducer_of(block) if len(content) == 1 else None
    vectors = with_axes(places, 1)
    if kind in _KINDS and (kind == "second" or content[0].dtype is not dtypes.bool):
        return [op(_KINDS[kind], content[0], vectors, updates[0])]
    if unique:
        found = [op("GatherV2", one, places, 0) for one in content]
        joined = _joined(call, block, found, updates)
        return [
            op("TensorScatterUpdate", one, vectors, new)
            for one, new in zip(content, joined, strict=True)
        ]
    return _in_turn(call, block, content, places, updates)


def _joined(call: Call, block: Block, old: Sequence[Tensor], new: Sequence[Tensor]) -> list[Tensor]:
    given = [Operand.of(one) for one in (*old, *new)]
    return [one.full for one in call.translation.on_arrays(block, given)]


def _in_turn(
    call: Call,
    block: Block,
    content: Sequence[Tensor],
    places: Tensor,
    updates: Sequence[Tensor],
) -> list[Tensor]:
    """One update after the other: indices may repeat, and the region is arbitrary."""
    count = op("Size", places)

    def turn(index: Tensor, *xs: Tensor) -> list[Tensor]:
        place = op("GatherV2", places, index, 0)
        old = [op("GatherV2", x, place, 0) for x in xs]
        new = [op("GatherV2", one, index, 0) for one in updates]
        joined = _joined(call, block, old, new)
        at = op("Reshape", place, [1, 1])
        changed = [
            op("TensorScatterUpdate", x, at, op("Reshape", one, [1]))
            for x, one in zip(xs, joined, strict=True)
        ]
        return [op("AddV2", index, constant(1, dtypes.int32)), *changed]

    variables = [constant(0, dtypes.int32), *content]
    shapes = [Shape(()), *(x.shape for x in content)]
    done = while_loop(lambda index, *_: op("Less", index, count), turn, variables, shapes)
    return list(done[1:])
