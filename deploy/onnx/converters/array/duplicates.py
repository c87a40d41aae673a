"""Distinct values."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("Unique", "UniqueWithCounts")
def unique(g: GraphBuilder, call: NodeView, x: Value) -> tuple[Value, ...]:
    """Unique, in the order of first occurrence."""
    return _distinct(g, call, x, None)


@converts("UniqueV2", "UniqueWithCountsV2", constants=("axis",))
def unique_v2(g: GraphBuilder, call: NodeView, x: Value, axis: Value) -> tuple[Value, ...]:
    """Unique along an axis."""
    del axis
    known = call.needed(1, "axis").reshape(-1)
    return _distinct(g, call, x, int(known[0]) % x.rank if known.size else None)


def _distinct(g: GraphBuilder, call: NodeView, x: Value, axis: int | None) -> tuple[Value, ...]:
    values, _, places, counts = g.ops("Unique", 4, x, axis=axis, sorted=0)
    kind = call.dtype("out_idx")
    found = values, g.cast(places, kind), g.cast(counts, kind)
    return found[: call.output_count]


@converts("ListDiff")
def list_diff(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> tuple[Value, Value]:
    """Compress of the elements that are equal to none: every pair is compared."""
    if x.dtype.name == "string" and g.opset < 19:
        call.fail("comparing strings needs opset 19")
    same = g.op("Equal", g.unsqueeze(x, 1), g.unsqueeze(y, 0))
    matches = g.op("ReduceSum", g.as_int64(same), g.ints(1), keepdims=0)
    alone = g.binary("Equal", matches, 0)
    places = g.iota(g.scalar(g.shape_of(x)))
    kept = g.op("Compress", places, alone, axis=0)
    return g.op("Compress", x, alone, axis=0), g.cast(kept, call.dtype("out_idx"))
