"""Boosted trees."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("BoostedTreesBucketize")
def bucketize(
    g: GraphBuilder, call: NodeView, values: tuple[Value, ...], edges: tuple[Value, ...]
) -> tuple[Value, ...]:
    """The number of boundaries below a value; the last bucket is for larger values."""
    del call
    found = []
    for x, boundaries in zip(values, edges, strict=True):
        below = g.op("Less", boundaries, g.unsqueeze(x, x.rank))
        count = g.op("ReduceSum", g.cast(below, dtypes.int32), g.ints(x.rank), keepdims=0)
        last = g.cast(g.scalar(g.op("Sub", g.size_of(boundaries, 0), g.ints(1))), dtypes.int32)
        found.append(g.op("Min", count, last))
    return tuple(found)
