"""Elements at given places of an axis."""

import numpy as np

from pinnace.deploy.tfjs.graph.rewriting import Rewrite, rule
from pinnace.framework import dtypes
from pinnace.graph.graph import Value


@rule("Gather")
def gather(r: Rewrite) -> Value:
    """Along the first axis."""
    return r.op("GatherV2", *r.inputs, r.constant(0, np.int32))


@rule("GatherV2")
def gather_along(r: Rewrite) -> Value | None:
    """Along any axis; with batches by way of one table."""
    batch = int(r.attr("batch_dims"))
    if not batch:
        return None
    x, indices, _ = r.inputs
    axis = r.known(2)
    r.needs(axis is not None, "with batch_dims, along an axis that is not known")
    return _of_batches(r, x, indices, batch, int(axis))


@rule("ResourceGather")
def resource_gather(r: Rewrite) -> Value:
    """From the value that stands in the place of the handle."""
    value, indices = r.inputs
    batch = int(r.attr("batch_dims"))
    if not batch:
        return r.op("GatherV2", value, indices, r.constant(0, np.int32))
    return _of_batches(r, value, indices, batch, batch)


def _of_batches(r: Rewrite, x: Value, indices: Value, batch: int, axis: int) -> Value:
    """The batches one below the other, with indices counted from the start of all of them.

    The kernel in WebAssembly takes the number of batches for the number of indices in each, so
    it is right only where these are the same, or there is one batch.
    """
    r.needs(
        x.shape.rank is not None and indices.shape.rank is not None,
        "with batch_dims, of a tensor with an unknown number of axes",
    )
    rank, places = len(x.shape), len(indices.shape)
    batch += places if batch < 0 else 0
    axis += rank if axis < 0 else 0
    # An axis of batches may be known of one of the two.
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
    # An index beyond its own batch stays one that is refused in a run.
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
