"""Max pooling with indices."""

from pinnace.deploy.onnx.converters.nn.pooling.windows import pooled
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("MaxPoolWithArgmax")
def max_pool_with_argmax(g: GraphBuilder, call: NodeView, x: Value) -> tuple[Value, Value]:
    """MaxPool; its indices count [n, c, h, w], those of TensorFlow [h, w, c] or [n, h, w, c]."""
    largest, places = pooled(g, call, "MaxPool", 2, x, call.attr("ksize"), call.attr("strides"))
    there = g.transpose(places, [0, 2, 3, 1])
    area = g.scalar(g.op("ReduceProd", g.shape_of(x, 1, 3), keepdims=1))
    channels = g.scalar(g.size_of(x, 3))
    plane = g.op("Div", there, area)
    within = g.op("Sub", there, g.op("Mul", plane, area))
    batch = g.op("Div", plane, channels)
    channel = g.op("Sub", plane, g.op("Mul", batch, channels))
    if call.attr("include_batch_in_index"):
        within = g.op("Add", g.op("Mul", batch, area), within)
    index = g.op("Add", g.op("Mul", within, channels), channel)
    return largest, g.cast(index, call.dtype("Targmax"))
