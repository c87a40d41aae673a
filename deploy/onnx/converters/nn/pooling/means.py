"""Average pooling."""

from pinnace.deploy.onnx.converters.nn.pooling.windows import pooled
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("AvgPool", "AvgPool3D")
def avg_pool(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """AveragePool; padding is not counted."""
    return pooled(g, call, "AveragePool", 1, x, call.attr("ksize"), call.attr("strides"))[0]
