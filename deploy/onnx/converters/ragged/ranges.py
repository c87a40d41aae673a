"""Concatenated ranges."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.ragged.conversion import rows_of_splits
from pinnace.deploy.onnx.converters.ragged.gathering import spans, splits_of
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("RaggedRange")
def ranges(
    g: GraphBuilder, call: NodeView, starts: Value, limits: Value, deltas: Value
) -> tuple[Value, Value]:
    """start + index * step in the widest type, as in the kernel."""
    wide = dtypes.int64 if starts.dtype.is_integer else dtypes.float64
    start, limit, step = (g.reshape(g.cast(x, wide), [-1]) for x in (starts, limits, deltas))
    way = g.op("Sub", limit, start)
    if wide is dtypes.int64:
        over = g.op("Mod", g.op("Neg", way), step)  # with the sign of the step
        lengths = g.op("Div", g.op("Add", way, over), step)
    else:
        lengths = g.as_int64(g.op("Ceil", g.op("Div", way, step)))
    splits = splits_of(g, g.op("Max", lengths, g.ints(0)))
    owners = rows_of_splits(g, splits).owners
    count = g.shape_of(lengths)
    start, step = (g.op("Gather", g.expand(x, count), owners, axis=0) for x in (start, step))
    place = spans(g, g.fill(count, g.index(0)), splits)
    values = g.op("Add", start, g.op("Mul", g.cast(place, wide), step))
    return g.cast(splits, call.output_spec().dtype), g.cast(values, starts.dtype)
