"""Softmax and LogSoftmax."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("Softmax", "LogSoftmax")
def softmax(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Softmax or LogSoftmax along the last axis."""
    return g.op(call.node.op.name, x, axis=x.rank - 1)
