"""Floats to whole numbers, as floats."""

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts


@converts("Floor", "Ceil")
def unary(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """The operator of the same name."""
    return g.op(call.node.op.name, x)


@converts("Round", "Rint")
def nearest(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Round; both go to the even neighbour at a half."""
    del call
    return g.op("Round", x) if x.dtype.is_floating else g.op("Identity", x)
