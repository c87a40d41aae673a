"""Gathering from variables."""

from pinnace.deploy.onnx.converters.array import gathering
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("ResourceGather")
def resource_gather(g: GraphBuilder, call: NodeView, x: Value, indices: Value) -> Value:
    """Gather from the value of the variable: an embedding."""
    return gathering.gathered(g, x, indices, int(call.attr("batch_dims")), call.attr("batch_dims"))


@converts("ResourceGatherNd")
def resource_gather_nd(g: GraphBuilder, call: NodeView, x: Value, indices: Value) -> Value:
    """GatherND from the value of the variable."""
    return gathering.gather_nd(g, call, x, indices)
