"""Reductions over segments of rows."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType

_KINDS = {"Sum": "add", "Prod": "mul", "Max": "max", "Min": "min"}


@converts("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin")
def unsorted(g: GraphBuilder, call: NodeView, data: Value, ids: Value, count: Value) -> Value:
    """ScatterND into neutral elements; rows with negative ids go to an extra segment."""
    kind = call.node.op.name.removeprefix("UnsortedSegment")
    total = g.reshape(g.as_int64(count), [1])
    owners = g.as_int64(ids)
    places = g.where(g.binary("Less", owners, 0), total, owners)
    return summed(g, data, places, total, _KINDS[kind], _neutral(g, data, kind))


def _neutral(g: GraphBuilder, data: Value, kind: str) -> Value:
    if kind in {"Sum", "Prod"}:
        return g.like(data, int(kind == "Prod"))
    return g.like(data, data.dtype.min if kind == "Max" else data.dtype.max)


def summed(
    g: GraphBuilder, data: Value, places: Value, total: Value, how: str, neutral: Value
) -> Value:
    """A row per segment, plus one for negative ids; 16-bit floats are summed in float32."""
    rest = g.shape_of(data, places.rank, data.rank)
    room = g.op("Add", total, g.ints(1))
    wide = _SUMMED.get(data.dtype, data.dtype)
    start = g.fill(g.joined(room, rest), g.cast(neutral, wide))
    indices = g.unsqueeze(places, places.rank)
    whole = g.op("ScatterND", start, indices, g.cast(data, wide), reduction=how)
    return g.cast(g.slice(whole, 0, 0, total), data.dtype)


_SUMMED: dict[DType, DType] = {dtypes.float16: dtypes.float32, dtypes.bfloat16: dtypes.float32}


@converts("SegmentSum", "SegmentProd", "SegmentMean", "SegmentMax", "SegmentMin")
def in_order(g: GraphBuilder, call: NodeView, data: Value, ids: Value) -> Value:
    """The reduction with the last id plus one as the number; empty segments are 0, products 1."""
    kind = call.node.op.name.removeprefix("Segment")
    owners = g.as_int64(ids)
    total = g.op("Add", g.op("ReduceMax", g.joined(owners, g.ints(-1)), keepdims=1), g.ints(1))
    if kind in {"Sum", "Prod"}:
        return summed(g, data, owners, total, _KINDS[kind], _neutral(g, data, kind))
    each = g.fill(g.shape_of(owners), g.index(1))
    counts = summed(g, each, owners, total, "add", g.index(0))
    counts = g.unsqueeze(counts, *range(1, data.rank)) if data.rank > 1 else counts
    if kind == "Mean":
        wide = _SUMMED.get(data.dtype, data.dtype)
        sums = summed(g, g.cast(data, wide), owners, total, "add", g.cast(g.like(data, 0), wide))
        rows = g.cast(g.op("Max", counts, g.index(1)), wide)
        return g.cast(g.op("Div", sums, rows), data.dtype)
    found = summed(g, data, owners, total, _KINDS[kind], _neutral(g, data, kind))
    return g.where(g.binary("Equal", counts, 0), g.like(data, 0), found)
