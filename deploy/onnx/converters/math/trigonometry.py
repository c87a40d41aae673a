"""Circular and hyperbolic functions."""

import math

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("Atan2")
def atan2(g: GraphBuilder, call: NodeView, y: Value, x: Value) -> Value:
    """Atan(y / x) moved into the quadrant of the point; on the axes by hand."""
    del call
    zero = g.like(x, 0)
    upright = g.op("Equal", x, zero)
    slope = g.op("Atan", g.op("Div", y, g.where(upright, g.like(x, 1), x)))
    below = g.op("Less", y, zero)
    half = g.where(below, g.like(x, -math.pi), g.like(x, math.pi))
    turned = g.where(g.op("Less", x, zero), g.op("Add", slope, half), slope)
    quarter = g.where(below, g.like(x, -math.pi / 2), g.like(x, math.pi / 2))
    vertical = g.where(g.op("Equal", y, zero), zero, quarter)
    return g.where(upright, vertical, turned)


@converts("TanhGrad")
def tanh_grad(g: GraphBuilder, call: NodeView, y: Value, dy: Value) -> Value:
    """`dy (1 - y²)`."""
    del call
    return g.op("Mul", dy, g.op("Sub", g.like(y, 1), g.op("Mul", y, y)))
