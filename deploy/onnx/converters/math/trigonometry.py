"""Trigonometric and hyperbolic functions."""

import math

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("Atan2")
def atan2(g: GraphBuilder, call: NodeView, y: Value, x: Value) -> Value:
    """Atan(y / x), moved to the quadrant of the point; axes and infinities are special cases."""
    del call
    zero, one = g.like(x, 0), g.like(x, 1)
    upright = g.op("Equal", x, zero)
    far = g.op("And", g.op("IsInf", x), g.op("IsInf", y))
    signs = g.op("Mul", g.op("Sign", y), g.op("Sign", x))
    ratio = g.where(far, signs, g.op("Div", y, g.where(upright, one, x)))
    slope = g.op("Atan", ratio)
    below, left = _is_negative(g, y), _is_negative(g, x)
    half = g.where(below, g.like(x, -math.pi), g.like(x, math.pi))
    turned = g.where(left, g.op("Add", slope, half), slope)
    quarter = g.where(below, g.like(x, -math.pi / 2), g.like(x, math.pi / 2))
    # ONNX Runtime's Where drops the sign of a zero in its second input.
    steep = g.op("And", upright, g.op("Or", g.op("Less", y, zero), g.op("Greater", y, zero)))
    return g.where(steep, quarter, turned)


def _is_negative(g: GraphBuilder, x: Value) -> Value:
    """Whether x has a minus sign, also -0: 1 / -0 is -inf."""
    zero = g.like(x, 0)
    return g.op("Or", g.op("Less", x, zero), g.op("Less", g.op("Div", g.like(x, 1), x), zero))


@converts("TanhGrad")
def tanh_grad(g: GraphBuilder, call: NodeView, y: Value, dy: Value) -> Value:
    """`dy (1 - y²)`."""
    del call
    return g.op("Mul", dy, g.op("Sub", g.like(y, 1), g.op("Mul", y, y)))
