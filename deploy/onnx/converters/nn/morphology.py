"""Greyscale morphology."""

from pinnace.deploy.onnx.converters.image.patches import windows
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("Dilation2D")
def dilation(g: GraphBuilder, call: NodeView, x: Value, weights: Value) -> Value:
    """The maximum over windows plus the filter, over elements inside the image."""
    height, width = weights.size(0), weights.size(1)
    if height is None or width is None:
        call.fail("the size of the window must be known")
    how = ((height, width), call.attr("strides")[1:3], call.attr("rates")[1:3])
    padding = call.attr("padding")
    sums = g.op("Add", windows(g, x, *how, padding), weights)
    ones = g.fill(
        g.joined(g.ints(1), g.shape_of(x, 1, 3), g.ints(1)), g.constant(1.0, dtype=dtypes.float32)
    )
    inside = g.binary("Greater", windows(g, ones, *how, padding), 0)
    lowest = g.like(x, x.dtype.min)
    # NaN is not greater than any number, so it never wins.
    wins = g.op("And", inside, g.op("Greater", sums, lowest))
    return g.op("ReduceMax", g.where(wins, sums, lowest), g.ints(3, 4), keepdims=0)
