"""And, or, not."""

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts


@converts("LogicalAnd")
def logical_and(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """And."""
    del call
    return g.op("And", x, y)


@converts("LogicalOr")
def logical_or(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """Or."""
    del call
    return g.op("Or", x, y)


@converts("LogicalNot")
def logical_not(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Not."""
    del call
    return g.op("Not", x)
