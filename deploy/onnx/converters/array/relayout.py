"""Ops that lay tensors out over devices: a file of ONNX has whole tensors."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("Relayout")
def relayout(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """The value itself."""
    del g, call
    return x


@converts("RelayoutLike")
def relayout_like(g: GraphBuilder, call: NodeView, x: Value, like: Value) -> Value:
    """The value itself."""
    del g, call, like
    return x
