"""The n-th smallest element of each row."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("NthElement")
def nth_element(g: GraphBuilder, call: NodeView, x: Value, n: Value) -> Value:
    """The last of the n + 1 smallest, or largest, elements."""
    place = g.as_int64(n)
    count = g.reshape(g.op("Add", place, g.like(place, 1)), [1])
    largest = int(call.attr("reverse"))
    values, _ = g.ops("TopK", 2, x, count, axis=x.rank - 1, largest=largest, sorted=1)
    return g.op("Gather", values, place, axis=x.rank - 1)
