"""Max pooling and its gradient (for saliency, integrated gradients)."""

from collections.abc import Sequence

from pinnace.deploy.onnx.converters.nn.pooling.windows import pooled
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes

# Narrower types have no addition in ONNX Runtime.
_SUMS = {dtypes.float64, dtypes.float32, dtypes.int64, dtypes.int32}


@converts("MaxPool", "MaxPool3D")
def max_pool(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """MaxPool; padding is never the largest."""
    return pooled(g, call, "MaxPool", 1, x, call.attr("ksize"), call.attr("strides"))[0]


@converts("MaxPoolV2", constants=("ksize", "strides"))
def max_pool_v2(g: GraphBuilder, call: NodeView, x: Value, ksize: Value, strides: Value) -> Value:
    """MaxPool; window and strides are attributes in ONNX."""
    del ksize, strides
    window = [int(n) for n in call.needed(1, "ksize")]
    steps = [int(n) for n in call.needed(2, "strides")]
    return pooled(g, call, "MaxPool", 1, x, window, steps)[0]


@converts("MaxPoolGrad")
def max_pool_grad(g: GraphBuilder, call: NodeView, x: Value, y: Value, dy: Value) -> Value:
    """Zeros with dy added at the maxima: among equal ones at the first, as in ONNX."""
    del y
    return _spread(g, call, x, dy, call.attr("ksize"), call.attr("strides"))


@converts("MaxPoolGradV2", constants=("ksize", "strides"))
def max_pool_grad_v2(
    g: GraphBuilder, call: NodeView, x: Value, y: Value, dy: Value, ksize: Value, strides: Value
) -> Value:
    """MaxPoolGrad with window and strides as inputs, which are attributes in ONNX."""
    del y, ksize, strides
    window = [int(n) for n in call.needed(3, "ksize")]
    steps = [int(n) for n in call.needed(4, "strides")]
    return _spread(g, call, x, dy, window, steps)


def _spread(
    g: GraphBuilder,
    call: NodeView,
    x: Value,
    dy: Value,
    ksize: Sequence[int],
    strides: Sequence[int],
) -> Value:
    """ScatterElements of all of dy, at flat indices of [n, c, h, w]."""
    _, places = pooled(g, call, "MaxPool", 2, x, ksize, strides)
    last = call.attr("data_format") == "NHWC"
    wider = dtypes.float32 if dy.dtype.is_floating else dtypes.int64
    given = g.cast(dy, dy.dtype if dy.dtype in _SUMS else wider)
    given = g.transpose(given, [0, 3, 1, 2]) if last else given
    whole = [g.size_of(x, axis) for axis in ((0, 3, 1, 2) if last else range(4))]
    sizes = g.joined(*whole)
    zeros = g.fill(g.op("ReduceProd", sizes, keepdims=1), g.like(given, 0))
    flat = g.op(
        "ScatterElements",
        zeros,
        g.reshape(places, [-1]),
        g.reshape(given, [-1]),
        axis=0,
        reduction="add",
    )
    spread = g.cast(g.reshape(flat, sizes), dy.dtype)
    return g.transpose(spread, [0, 2, 3, 1]) if last else spread
