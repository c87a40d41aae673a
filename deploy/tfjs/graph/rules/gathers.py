"""Gathering along axes."""

import numpy as np

from pinnace.deploy.tfjs.graph.rewriting import Rewrite, rule
from pinnace.framework import dtypes
from pinnace.graph.graph import Value


@rule("Gather")
def gather(r: Rewrite) -> Value:
    """GatherV2 along the first axis."""
    return r.op("GatherV2", *r.inputs, r.constant(0, np.int32))


@rule("GatherV2")
def gather_along(r: Rewrite) -> Value | None:
    """GatherV2 along any axis; batches become one table."""
    batch = int(r.attr("batch_dims"))
    if not batch:
        return None
    x, indices, _ = r.inputs
    axis = r.known(2)
    r.needs(axis is not None, "with batch_dims, along an axis that is not known")
    return _of_batches(r, x, indices, batch, int(axis))


@rule("ResourceGather")
def resource_gather(r: Rewrite) -> Value:
    """GatherV2 of the value that replaces the handle."""
    value, indices = r.inputs
    batch = int(r.attr("batch_dims"))
    if not batch:
        return r.op("GatherV2", value, indices, r.constant(0, np.int32))
    return _of_batches(r, value, indices, batch, batch)


def _of_batches(r: Rewrite, x: Value, indices: Value, batch: int, axis: int) -> Value:
    """Merge the batches into one table, with indices from its start.

    The WebAssembly kernel confuses the number of batches and the number of indices per batch, so it
    is right only if they are equal, or if there is one batch.
    """
    r.needs(
        x.shape.rank is not None and indices.shape.rank is not None,
        "it has batch_dims, and its input has unknown rank",
    )
    rank, places = len(x.shape), len(indices.shape)
    batch += places if batch < 0 else 0
    axis += rank if axis < 0 else 0
    # A batch size may be known from either operand.
    heads = [r.size(x if x.shape[one] is not None else indices, one) for one in range(batch)]
    count = r.product(heads)
    inner = indices.shape.as_list()[batch:]
    each = None if None in inner else r.product([size or 0 for size in inner])
    if count == 1 or (each is not None and each == count):
        return r.op("GatherV2", x, indices, r.constant(axis, np.int32), batch_dims=batch)
    if indices.dtype is not dtypes.int32:
        indices = r.op("Cast", indices, DstT=dtypes.int32)
    depth = r.scalar(r.size(x, axis))
    if axis != batch:
        x = r.transposed(x, (*range(batch), axis, *range(batch, axis), *range(axis + 1, rank)))
    sizes = [r.size(x, one) for one in range(rank)]
    table = r.reshaped(x, [r.product(sizes[: batch + 1]), *sizes[batch + 1 :]])
    zero, one = (r.constant(number, np.int32) for number in (0, 1))
    starts = r.op("Mul", r.op("Range", zero, r.scalar(count), one), depth)
    starts = r.reshaped(starts, [*heads, *[1] * len(inner)])
    # An index out of range of its batch must remain out of range of the table.
    inside = r.op("LogicalAnd", r.op("GreaterEqual", indices, zero), r.op("Less", indices, depth))
    found = r.op("AddV2", indices, starts)
    made = r.op("GatherV2", table, r.selected(inside, found, r.constant(-1, np.int32)), zero)
    if axis == batch:
        return made
    outer = places + axis - batch
    last = len(inner) + rank - 1
    return r.transposed(
        made, (*range(batch), *range(places, outer), *range(batch, places), *range(outer, last))
    )
