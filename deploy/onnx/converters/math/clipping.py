"""Clipping to bounds."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("ClipByValue")
def clip_by_value(g: GraphBuilder, call: NodeView, x: Value, low: Value, high: Value) -> Value:
    """Clip takes scalar bounds; ClipByValue broadcasts them."""
    if call.input_spec(1).shape.rank == call.input_spec(2).shape.rank == 0:
        return g.op("Clip", x, low, high)
    return g.op("Max", g.op("Min", x, high), low)
