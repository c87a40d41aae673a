"""The largest or the mean of each window."""

from collections.abc import Sequence

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.converters.nn import layouts
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts, refuses


def _pooled(
    g: GraphBuilder,
    call: NodeView,
    kind: str,
    count: int,
    x: Value,
    ksize: Sequence[int],
    strides: Sequence[int],
) -> tuple[Value, ...]:
    last = (
        str(call.attr("data_format")).endswith("C") if "data_format" in call.node.op.attrs else True
    )
    taps = layouts.inner(ksize, last)
    if {ksize[0], ksize[-1 if last else 1]} != {1}:
        call.fail(f"windows over batch or channels: {list(ksize)}")
    window = layouts.window_of(call, list(x.shape), taps, strides)
    attrs = window.attributes
    if kind == "AveragePool":
        attrs["count_include_pad"] = 0
    return layouts.emit(g, window, kind, count, x, kernel_shape=list(taps), **attrs)


@converts("MaxPool", "MaxPool3D")
def max_pool(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """MaxPool; paddings are never the largest."""
    return _pooled(g, call, "MaxPool", 1, x, call.attr("ksize"), call.attr("strides"))[0]


@converts("MaxPoolV2", constants=("ksize", "strides"))
def max_pool_v2(g: GraphBuilder, call: NodeView, x: Value, ksize: Value, strides: Value) -> Value:
    """MaxPool; window and step are attributes in ONNX."""
    del ksize, strides
    window = [int(n) for n in call.needed(1, "ksize")]
    steps = [int(n) for n in call.needed(2, "strides")]
    return _pooled(g, call, "MaxPool", 1, x, window, steps)[0]


@converts("AvgPool", "AvgPool3D")
def avg_pool(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """AveragePool; paddings are not counted."""
    return _pooled(g, call, "AveragePool", 1, x, call.attr("ksize"), call.attr("strides"))[0]


@converts("MaxPoolWithArgmax")
def max_pool_with_argmax(g: GraphBuilder, call: NodeView, x: Value) -> tuple[Value, Value]:
    """MaxPool; its places count [n, c, h, w], ours [h, w, c] or [n, h, w, c]."""
    largest, places = _pooled(g, call, "MaxPool", 2, x, call.attr("ksize"), call.attr("strides"))
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


refuses(
    "is a step of training: the gradient of a pooling",
    "AvgPool3DGrad",
    "AvgPoolGrad",
    "FractionalAvgPoolGrad",
    "FractionalMaxPoolGrad",
    "MaxPool3DGrad",
    "MaxPool3DGradGrad",
    "MaxPoolGrad",
    "MaxPoolGradGrad",
    "MaxPoolGradGradV2",
    "MaxPoolGradGradWithArgmax",
    "MaxPoolGradV2",
    "MaxPoolGradWithArgmax",
)
refuses(
    "has cells of random sizes, which ONNX's poolings have not",
    "FractionalAvgPool",
    "FractionalMaxPool",
)
