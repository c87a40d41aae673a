"""Gradients of gathers, as slices or sums of slices."""

from typing import Any

import numpy as np

from pinnace.framework.dtypes import int32, int64
from pinnace.framework.indexed_slices import IndexedSlices
from pinnace.framework.tensor import Tensor
from pinnace.ops.array import (
    broadcasting,
    casting,
    constants,
    gathering,
    joining,
    permutations,
    reshaping,
    scattering,
    shapes,
)
from pinnace.ops.math import division, ranges, reduction, segments
from pinnace.ops.opdef import OpCall
from pinnace.ops.registry import gradient_of


def _sizes(params: Tensor) -> Tensor:
    """The shape as a tensor, a constant if it is known."""
    if params.shape.is_fully_defined():
        return constants.constant(np.array(params.shape.as_list(), np.int32))
    return shapes.shape(params)


def _product(sizes: list[Any]) -> Any:
    total: Any = 1
    for n in sizes:
        total = total * n
    return total


@gradient_of(gathering.GATHER_V2)
def _gather_v2_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    """The gradient of GatherV2."""
    params, indices, axis = call.inputs
    batch, found = call.attr("batch_dims"), broadcasting.known_value(axis)
    at: Any = None if found is None else int(found.reshape(-1)[0])
    if at == 0 and not batch:
        return slices_of_rows(_sizes(params), indices, dy), None, None
    if batch < 0:
        rank = indices.shape.rank
        batch = batch + (shapes.rank(indices) if rank is None else rank)
    if at is None or at < 0:
        rank = params.shape.rank
        place = casting.cast(reshaping.reshape(axis, []), int32) if at is None else at
        size = shapes.rank(params) if rank is None else rank
        at = division.floormod(place, size) if at is None else place + size
    return gather_axis_gradient(params, indices, dy, at, batch), None, None


def gather_axis_gradient(
    params: Tensor, indices: Tensor, dy: Tensor, axis: Any, batch: Any
) -> Tensor:
    """The sum of `slices_of_rows`, with the gathered axis first and batches separate.

    `axis` and `batch` are numbers from 0, or tensors where the ranks are not known.
    """
    groups, outer = _part(params, 0, batch), _part(params, batch, axis)
    limit, inner = _part(params, axis, axis + 1), _part(params, axis + 1, None)
    each = _part(indices, batch, None)
    split = reshaping.reshape(dy, [groups, outer, each, inner])
    rows = reshaping.reshape(
        permutations.transpose(split, [0, 2, 1, 3]), [groups * each, outer, inner]
    )
    places = reshaping.reshape(indices, [groups, each])
    starts = ranges.range(0, groups, 1, dtype=int64) * casting.cast(limit, int64)
    places = casting.cast(places, int64) + reshaping.expand_dims(starts, 1)
    total = segments.unsorted_segment_sum(rows, reshaping.reshape(places, [-1]), groups * limit)
    back = reshaping.reshape(total, [groups, limit, outer, inner])
    return reshaping.reshape(permutations.transpose(back, [0, 2, 1, 3]), shapes.sizes(params))


def _part(x: Tensor, start: Any, stop: Any) -> Any:
    """The product of sizes of some axes: a number if it is known, else a tensor."""
    known = x.shape
    if known.is_fully_defined() and not isinstance(start, Tensor) and not isinstance(stop, Tensor):
        return _product(known.as_list()[start:stop])
    return reduction.reduce_prod(shapes.shape(x)[start:stop])


@gradient_of(gathering.GATHER_ND)
def _gather_nd_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    """The gradient of GatherNd."""
    params, indices = call.inputs
    sizes = shapes.shape(params, indices.dtype)
    policy = call.attr("bad_indices_policy")
    if indices.shape.rank == 2 and indices.shape[1] == 1 and policy in {"", "DEFAULT"}:
        return IndexedSlices(dy, reshaping.reshape(indices, [-1]), sizes), None
    return scattering.scatter_nd(indices, dy, sizes, bad_indices_policy=policy), None


@gradient_of(gathering.GATHER)
def _gather_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    """The gradient of Gather."""
    params, indices = call.inputs
    return slices_of_rows(_sizes(params), indices, dy), None


def slices_of_rows(sizes: Tensor, indices: Tensor, dy: Tensor) -> IndexedSlices:
    """The gradient of gathered rows: each row of `dy` belongs to the row that was its source.

    Args:
        sizes: [rank], the shape of what was gathered from.
        indices: the rows that were gathered.
        dy: [*indices.shape, ...].
    """
    if indices.shape.rank != 1:
        if dy.shape.is_fully_defined() and indices.shape.is_fully_defined():
            inner = dy.shape[indices.shape.rank :]
            target: Any = [_product(shapes.axis_sizes(indices)), *inner]
        else:
            count = reshaping.reshape(shapes.size(indices), [1])
            target = joining.concat([count, sizes[1:]], 0)
        dy = reshaping.reshape(dy, target)
        indices = reshaping.reshape(indices, [-1])
    return IndexedSlices(dy, indices, sizes)


def _summed(self: IndexedSlices, name: str | None) -> Tensor:
    """The dense tensor of slices, with duplicate rows added."""
    shape: Any = self.dense_shape
    known = broadcasting.known_value(shape)
    rows = shape[0] if known is None else int(known[0])
    return segments.unsorted_segment_sum(self.values, self.indices, rows, name)


IndexedSlices._summed = _summed  # type: ignore[method-assign]
