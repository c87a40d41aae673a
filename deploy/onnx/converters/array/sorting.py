"""Order."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("TopKV2")
def top_k(g: GraphBuilder, call: NodeView, x: Value, k: Value) -> tuple[Value, Value]:
    """TopK; among equal values, both prefer the first."""
    count = g.reshape(g.as_int64(k), [1])
    values, indices = g.ops("TopK", 2, x, count, axis=x.rank - 1, largest=1, sorted=1)
    return values, g.cast(indices, call.dtype("index_type"))


@converts("LowerBound", "UpperBound")
def bound(g: GraphBuilder, call: NodeView, ordered: Value, values: Value) -> Value:
    """The number of elements in the row that are less (or not greater): all pairs are compared."""
    kind = "Less" if call.node.op.name == "LowerBound" else "LessOrEqual"
    if ordered.dtype.name in {"string", "bool"}:
        call.fail(f"ONNX cannot compare {ordered.dtype.name}")
    before = g.op(kind, g.unsqueeze(ordered, 1), g.unsqueeze(values, 2))
    target = call.dtype("out_type")
    return g.op("ReduceSum", g.cast(before, target), g.ints(2), keepdims=0)
