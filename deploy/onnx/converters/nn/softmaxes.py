"""Softmax and its logarithm."""

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts


@converts("Softmax", "LogSoftmax")
def softmax(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """The operator of the same name, along the last axis."""
    return g.op(call.node.op.name, x, axis=x.rank - 1)
