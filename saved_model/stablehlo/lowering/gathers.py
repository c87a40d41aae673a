"""Slices at positions given by a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.shapes import Shape
from pinnace.saved_model.stablehlo.lowering.indices import Indices, check_axes, with_axes
from pinnace.saved_model.stablehlo.lowering.operands import (
    Operand,
    constant,
    op,
    reshaped,
    shape_tensor,
)
from pinnace.saved_model.stablehlo.lowering.registry import Call, lowers
from pinnace.saved_model.stablehlo.lowering.sizes import known_dims
from pinnace.saved_model.stablehlo.lowering.slices import between, row_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.lowering.operands import Dim


@lowers("gather")
def lower_gather(call: Call) -> Tensor | Operand:
    """Slices of a given size, clamped to be in bounds."""
    return _gather(call, call.operation.integers("slice_sizes"))


@lowers("dynamic_gather")
def lower_dynamic_gather(call: Call) -> Tensor | Operand:
    """`gather` with the slice sizes as an operand."""
    window = known_dims(call.operand(2))
    if window is None:
        call.refuse("computed slice sizes are not translated")
    return _gather(call, window)


def _gather(call: Call, window: Sequence[Dim]) -> Operand:
    x, operation = call.operand(0), call.operation
    collapsed = operation.integers("collapsed_slice_dims")
    mapped = operation.integers("start_index_map")
    batching = operation.optional_integers("operand_batching_dims")
    offsets = operation.integers("offset_dims")
    indices = Indices(call, call.operand(1), operation.integer("index_vector_dim"))
    check_axes(call, x.rank, collapsed, batching)
    check_axes(call, x.rank, mapped, batching)
    along = [
        indices.batch_axis(axis)
        for axis in operation.optional_integers("start_indices_batching_dims")
    ]
    if len(window) != x.rank or len(mapped) != indices.length or len(along) != len(batching):
        call.refuse("its slice sizes or index maps do not match its operands")
    check_axes(call, len(indices.batch), along)
    kept = [axis for axis in range(x.rank) if axis not in collapsed and axis not in batching]
    check_axes(call, len(indices.batch) + len(kept), offsets)
    if len(offsets) != len(kept):
        call.refuse("the axes of its slices do not match offset_dims")
    result = _Result(indices.batch, [window[axis] for axis in kept], offsets)
    if _is_take(x, window, mapped, batching):
        return _take(call, x, indices, mapped[0], kept, result)
    if not indices.batch and not batching:
        return _slice(call, x, indices, window, mapped, result)
    return _general(call, x, indices, window, (mapped, batching, along, kept), result)


class _Result:
    """The result of a gather: axes of the indices and axes of the slices, in its order."""

    def __init__(self, batch: Sequence[Dim], window: Sequence[Dim], offsets: Sequence[int]) -> None:
        self.batch = tuple(batch)
        rank = len(batch) + len(window)
        places = [axis for axis in range(rank) if axis not in offsets]
        # The source of each axis: batch axes first, then those of the slices.
        source = {place: index for index, place in enumerate(places)}
        source |= {place: len(batch) + index for index, place in enumerate(sorted(offsets))}
        self.order = [source[place] for place in range(rank)]
        sizes = [*batch, *window]
        self.shape = [sizes[index] for index in self.order]

    def of(self, tensor: Tensor, own: Sequence[int]) -> Operand:
        """Return the result, transposed from a tensor with the same axes in another order.

        Args:
            tensor: the tensor.
            own: the tensor's axis for each axis of the batch, then of the slices.
        """
        order = [own[index] for index in self.order]
        if order != sorted(order):
            tensor = op("Transpose", tensor, order)
        return Operand(tensor, self.shape)


def _is_take(
    x: Operand, window: Sequence[Dim], mapped: Sequence[int], batching: Sequence[int]
) -> bool:
    """Whether each index takes a full slice along one axis."""
    return (
        len(mapped) == 1
        and not batching
        and window[mapped[0]] == 1
        and all(window[n] == x.shape[n] for n in range(x.rank) if n != mapped[0])
    )


def _take(
    call: Call, x: Operand, indices: Indices, axis: int, kept: Sequence[int], result: _Result
) -> Operand:
    if axis == 0 and not indices.batch and indices.number is not None:
        row = row_of(x, indices.number)
        if row is not None and result.order == sorted(result.order):
            return row if axis in kept else row.row
    most = call.translation.sizes.combined("subtract", x.shape[axis], 1)
    place = indices.clamped(0, most)
    count = len(indices.batch)
    taken = op("GatherV2", x.full, place, axis)
    if axis in kept:
        taken = op("ExpandDims", taken, axis + count)
    # The tensor's axes before the axis, the batch, and those after it.
    slices = [n if n < axis else n + count - (axis not in kept) for n in kept]
    if axis in kept:
        slices = [n if n < axis else n + count for n in kept]
    return result.of(taken, [*range(axis, axis + count), *slices])


def _slice(
    call: Call,
    x: Operand,
    indices: Indices,
    window: Sequence[Dim],
    mapped: Sequence[int],
    result: _Result,
) -> Operand:
    """One slice, at the position of one index vector."""
    sizes, zero = call.translation.sizes, constant(0, indices.dtype)
    whole = _known_slice(call, x, window, mapped)
    if whole is not None:
        return Operand(reshaped(whole.full, result.shape), result.shape)
    starts = []
    for axis in range(x.rank):
        if axis in mapped:
            most = sizes.combined("subtract", x.shape[axis], window[axis])
            starts.append(indices.clamped(mapped.index(axis), most))
        else:
            starts.append(zero)
    size = op("Cast", shape_tensor(window), DstT=indices.dtype)
    part = op("Slice", x.full, op("Pack", starts), size)
    known = [n if isinstance(n, int) else None for n in window]
    if part.shape != Shape(known):
        part = op("EnsureShape", part, shape=Shape(known))
    return Operand(reshaped(part, result.shape), result.shape)


def _known_slice(
    call: Call, x: Operand, window: Sequence[Dim], mapped: Sequence[int]
) -> Operand | None:
    """The slice at a known position, such as x[:, 1:-1] with a batch of unknown size."""
    known = call.operand(1).known
    if known is None:
        return None
    places = dict(zip(mapped, known.reshape(-1).tolist(), strict=True))
    starts: list[Dim] = []
    for axis, (size, count) in enumerate(zip(x.shape, window, strict=True)):
        place, most = places.get(axis, 0), 0
        if count != size:
            if not (isinstance(size, int) and isinstance(count, int)):
                return None
            most = size - count
        if not isinstance(place, int):
            return None
        starts.append(max(0, min(place, most)))
    sizes = call.translation.sizes
    limits = [sizes.total("add", pair, 0) for pair in zip(starts, window, strict=True)]
    return between(call, x, starts, limits, [1] * x.rank)


def _general(
    call: Call,
    x: Operand,
    indices: Indices,
    window: Sequence[Dim],
    axes: tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]],
    result: _Result,
) -> Operand:
    """An index for each element along the indexed axes, then GatherNd."""
    mapped, batching, along, kept = axes
    sizes, count = call.translation.sizes, len(indices.batch)
    lead = [*mapped, *batching]
    rest = [axis for axis in range(x.rank) if axis not in lead]
    inner = [axis for axis in mapped if axis in kept]
    places = []
    for axis in lead:
        if axis in mapped:
            most = sizes.combined("subtract", x.shape[axis], window[axis])
            place = with_axes(indices.clamped(mapped.index(axis), most), len(inner))
            if axis in inner:
                counted = indices.counted(window[axis], inner.index(axis), len(inner))
                place = op("AddV2", place, counted)
        else:
            batch_axis = along[batching.index(axis)]
            counted = indices.counted(indices.batch[batch_axis], batch_axis, count)
            place = with_axes(counted, len(inner))
        places.append(place)
    turned = op("Transpose", x.full, [*lead, *rest])
    limits = [*(x.shape[axis] for axis in lead), *(window[axis] for axis in rest)]
    if any(window[axis] != x.shape[axis] for axis in rest):
        starts = [0] * x.rank
        turned = op("Slice", turned, starts, shape_tensor(limits))
    if lead:
        grid = shape_tensor([*indices.batch, *(window[axis] for axis in inner)])
        vectors = op("Pack", [op("BroadcastTo", one, grid) for one in places], axis=-1)
        taken = op("GatherNd", turned, vectors)
    else:  # the same slice for every vector
        taken = op("BroadcastTo", turned, shape_tensor([*indices.batch, *limits]))
    behind = count + len(inner)
    own = [
        *range(count),
        *(
            count + inner.index(axis) if axis in inner else behind + rest.index(axis)
            for axis in kept
        ),
    ]
    gone = [behind + n for n, axis in enumerate(rest) if axis not in kept]
    if gone:
        taken = op("Squeeze", taken, squeeze_dims=tuple(gone))
        own = [axis - sum(one < axis for one in gone) for axis in own]
    return result.of(taken, own)


@lowers("torch_index_select")
def lower_torch_index_select(call: Call) -> Tensor:
    """Slices along an axis by indices, for each element of the batch axes."""
    return op(
        "GatherV2",
        call.full(0),
        call.full(1),
        call.operation.integer("dim"),
        batch_dims=call.operation.integer("batch_dims"),
    )
