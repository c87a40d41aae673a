"""Reductions over segments of gathered rows."""

from pinnace.deploy.onnx.converters.math.segments import summed
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN")
def of_rows(g: GraphBuilder, call: NodeView, data: Value, indices: Value, ids: Value) -> Value:
    """The number of segments follows from the last id; empty ones are 0."""
    owners = g.as_int64(ids)
    last = g.op("ReduceMax", g.joined(owners, g.ints(-1)), keepdims=1)
    return _grouped(g, call, data, indices, owners, g.op("Add", last, g.ints(1)))


@converts(
    "SparseSegmentSumWithNumSegments",
    "SparseSegmentMeanWithNumSegments",
    "SparseSegmentSqrtNWithNumSegments",
)
def of_rows_counted(
    g: GraphBuilder, call: NodeView, data: Value, indices: Value, ids: Value, count: Value
) -> Value:
    """The number of segments is given."""
    total = g.reshape(g.as_int64(count), [1])
    return _grouped(g, call, data, indices, g.as_int64(ids), total)


def _grouped(
    g: GraphBuilder, call: NodeView, data: Value, indices: Value, owners: Value, total: Value
) -> Value:
    kind = data.dtype
    # Sums of 16-bit floats are rounded only once, after the division.
    wide = dtypes.float32 if kind.is_floating and kind.size == 2 else kind
    rows = g.cast(g.op("Gather", data, indices, axis=0), wide)
    sums = summed(g, rows, owners, total, "add", g.like(rows, 0))
    name = call.node.op.name
    if "Sum" in name.removesuffix("WithNumSegments"):
        return g.cast(sums, kind)
    each = g.fill(g.shape_of(owners), g.index(1))
    counts = g.op("Max", summed(g, each, owners, total, "add", g.index(0)), g.index(1))
    if data.rank > 1:
        counts = g.unsqueeze(counts, *range(1, data.rank))
    counts = g.cast(counts, wide)
    return g.cast(g.op("Div", sums, g.op("Sqrt", counts) if "SqrtN" in name else counts), kind)
