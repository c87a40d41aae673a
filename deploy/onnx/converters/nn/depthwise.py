"""Depthwise convolutions."""

from pinnace.deploy.onnx.converters.nn import layouts, spatial_convolutions
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


def per_channel_weights(
    g: GraphBuilder, call: NodeView, weights: Value
) -> tuple[Value, list[int], int]:
    """The filter [h, w, c, m] as [c m, 1, h, w], the window's size, and c."""
    sizes = list(weights.shape)
    if None in sizes:
        call.fail("the shape of the filter must be known")
    height, width, channels, multiplier = (int(size) for size in sizes if size is not None)
    flat = g.reshape(weights, [height, width, 1, channels * multiplier])
    return spatial_convolutions.outputs_first(g, flat), [height, width], channels


@converts("DepthwiseConv2dNative")
def depthwise(g: GraphBuilder, call: NodeView, x: Value, weights: Value) -> Value:
    """Conv with a group per channel."""
    kernel, taps, channels = per_channel_weights(g, call, weights)
    window = layouts.window_of(call, list(x.shape), taps, call.attr("strides"))
    return spatial_convolutions.convolved(g, window, x, kernel, taps, channels)


@converts("DepthwiseConv2dNativeBackpropInput")
def depthwise_input_gradient(
    g: GraphBuilder, call: NodeView, sizes: Value, weights: Value, dy: Value
) -> Value:
    """ConvTranspose with a group per channel."""
    kernel, taps, channels = per_channel_weights(g, call, weights)
    return spatial_convolutions.spread(g, call, sizes, kernel, dy, taps, channels)
