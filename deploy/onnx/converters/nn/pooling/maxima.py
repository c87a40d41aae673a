"""The largest element of each window."""

from pinnace.deploy.onnx.converters.nn.pooling.windows import pooled
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("MaxPool", "MaxPool3D")
def max_pool(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """MaxPool; paddings are never the largest."""
    return pooled(g, call, "MaxPool", 1, x, call.attr("ksize"), call.attr("strides"))[0]


@converts("MaxPoolV2", constants=("ksize", "strides"))
def max_pool_v2(g: GraphBuilder, call: NodeView, x: Value, ksize: Value, strides: Value) -> Value:
    """MaxPool; window and step are attributes in ONNX."""
    del ksize, strides
    window = [int(n) for n in call.needed(1, "ksize")]
    steps = [int(n) for n in call.needed(2, "strides")]
    return pooled(g, call, "MaxPool", 1, x, window, steps)[0]
