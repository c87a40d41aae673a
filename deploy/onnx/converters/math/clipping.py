"""Values kept between bounds."""

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts


@converts("ClipByValue")
def clip_by_value(g: GraphBuilder, call: NodeView, x: Value, low: Value, high: Value) -> Value:
    """Clip takes scalar bounds; ClipByValue broadcasts them."""
    if call.input_spec(1).shape.rank == call.input_spec(2).shape.rank == 0:
        return g.op("Clip", x, low, high)
    return g.op("Max", g.op("Min", x, high), low)
