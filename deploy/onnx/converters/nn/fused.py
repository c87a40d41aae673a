"""TensorFlow's fused ops: a product, a bias or inference normalisation, an activation."""

from pinnace.deploy.onnx.converters.math.products import mat_mul
from pinnace.deploy.onnx.converters.nn.biases import per_channel
from pinnace.deploy.onnx.converters.nn.depthwise import depthwise
from pinnace.deploy.onnx.converters.nn.spatial_convolutions import convolution
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("_FusedConv2D")
def fused_convolution(
    g: GraphBuilder,
    call: NodeView,
    x: Value,
    weights: Value,
    args: tuple[Value, ...],
    host_args: tuple[Value, ...],
) -> Value:
    """Conv, then its steps; passes and ONNX Runtime fuse them again."""
    if host_args or call.attr("filter_format") != "HWIO":
        call.fail("its filter must be HWIO, without host_args")
    return _finished(g, call, convolution(g, call, x, weights), args)


@converts("_FusedDepthwiseConv2dNative")
def fused_depthwise(
    g: GraphBuilder, call: NodeView, x: Value, weights: Value, args: tuple[Value, ...]
) -> Value:
    """Conv with a group per channel, then its steps."""
    return _finished(g, call, depthwise(g, call, x, weights), args)


@converts("_FusedMatMul")
def fused_mat_mul(
    g: GraphBuilder, call: NodeView, a: Value, b: Value, args: tuple[Value, ...]
) -> Value:
    """MatMul, then its steps."""
    return _finished(g, call, mat_mul(g, call, a, b), args)


def _finished(g: GraphBuilder, call: NodeView, y: Value, args: tuple[Value, ...]) -> Value:
    """`y` after each of `fused_ops`, which consume `args` in order."""
    rest = list(args)
    for step in call.attr("fused_ops"):
        if step == "BiasAdd":
            y = g.op("Add", y, per_channel(g, call, y, rest.pop(0)))
        elif step == "Add":
            y = g.op("Add", y, rest.pop(0))
        elif step == "FusedBatchNorm":
            scale, offset, mean, variance = (per_channel(g, call, y, rest.pop(0)) for _ in range(4))
            spread = g.op("Sqrt", g.binary("Add", variance, call.attr("epsilon")))
            away = g.op("Mul", g.op("Sub", y, mean), g.op("Div", scale, spread))
            y = g.op("Add", away, offset)
        elif step == "Relu6":
            y = g.op("Clip", y, g.like(y, 0), g.like(y, 6))
        elif step == "LeakyRelu":
            y = g.op("LeakyRelu", y, alpha=float(call.attr("leakyrelu_alpha")))
        elif step in {"Relu", "Elu", "Tanh", "Sigmoid"}:
            y = g.op(step, y)
        else:
            call.fail(f"its fused step {step!r} has no converter")
    return y
