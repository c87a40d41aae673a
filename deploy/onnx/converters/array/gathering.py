"""Gather ops: elements by index."""

import numpy as np

from pinnace.deploy.onnx.converters.array.permutations import Moved
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.framework.dtypes import INDEX


@converts("Gather")
def gather(g: GraphBuilder, call: NodeView, x: Value, indices: Value) -> Value:
    """Gather along the first axis."""
    del call
    return g.op("Gather", x, as_index(g, indices), axis=0)


def as_index(g: GraphBuilder, indices: Value) -> Value:
    """Indices in a type that Gather takes."""
    return indices if indices.dtype in INDEX else g.as_int64(indices)


@converts("GatherV2", constants=("axis",))
def gather_v2(
    g: GraphBuilder, call: NodeView, x: Value, indices: Value, axis: Value | None = None
) -> Value:
    """Gather, or GatherND with batch axes."""
    batch = int(call.attr("batch_dims"))
    known = [0] if axis is None else call.axes(2, x.rank)
    if axis is None or known is not None:
        return gathered(g, x, indices, known[0] if known else 0, batch)
    if batch or indices.rank > 1:
        call.fail("axis must be a constant, as indices has several axes or batch_dims is not 0")
    moved = Moved(g, axis, x.rank)
    found = gathered(g, moved.there(x), indices, 0, 0)
    return moved.back(found) if indices.rank else found


def gathered(g: GraphBuilder, x: Value, indices: Value, where: int, batch: int) -> Value:
    """Gather along an axis; the first `batch` axes of both are batch axes."""
    if batch < 0:
        batch += indices.rank
    if not batch:
        return g.op("Gather", x, as_index(g, indices), axis=where)
    # The gathered axis moves behind the batch axes, and the axes of its indices move to its place.
    between = list(range(batch, where))
    order = [*range(batch), where, *between, *range(where + 1, x.rank)]
    rows = g.op(
        "GatherND",
        g.transpose(x, order),
        g.unsqueeze(g.as_int64(indices), indices.rank),
        batch_dims=batch,
    )
    count = indices.rank - batch
    first = batch + count
    middle = list(range(first, first + len(between)))
    rest = list(range(first + len(between), x.rank + count - 1))
    return g.transpose(rows, [*range(batch), *middle, *range(batch, first), *rest])


@converts("GatherNd")
def gather_nd(g: GraphBuilder, call: NodeView, x: Value, indices: Value) -> Value:
    """GatherND with int64 indices; empty indices give the whole tensor."""
    depth = indices.size(indices.rank - 1)
    if depth is None:
        call.fail("the last size of indices must be known")
    if depth == 0:
        lead = g.shape_of(indices, 0, indices.rank - 1)
        return g.expand(x, g.joined(lead, g.shape_of(x)))
    places = g.as_int64(indices)
    if call.attr("bad_indices_policy") != "IGNORE":
        return g.op("GatherND", x, places)
    inside = are_inside(g, x, places, depth)
    last = places.rank - 1
    places = g.where(g.unsqueeze(inside, last), places, g.index(0))
    kept = g.unsqueeze(inside, *range(last, last + x.rank - depth))
    return g.where(kept, g.op("GatherND", x, places), blank(g, x))


def are_inside(g: GraphBuilder, x: Value, places: Value, depth: int) -> Value:
    """Which rows of int64 indices, of length `depth`, are within the bounds of `x`."""
    above = g.binary("GreaterOrEqual", places, 0)
    below = g.op("Less", places, g.shape_of(x, 0, depth))
    both = g.as_int64(g.op("And", above, below))
    least = g.op("ReduceMin", both, g.ints(places.rank - 1), keepdims=0)
    return g.cast(least, dtypes.bool)


def blank(g: GraphBuilder, x: Value) -> Value:
    """0, or an empty string."""
    if x.dtype is dtypes.string:
        return g.constant(np.array(b"", object), dtype=dtypes.string)
    return g.like(x, 0)
