"""Bessel functions."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes

# Small x: the mean over a circle, of which half the points suffice by symmetry; its error is about
# exp(-points² / 2x). Large x: Hankel's series, whose term k is below (k / 2x)^k.
_FAR = 30.0
_HALF = 32
_TERMS = 16
# For tiny x the mean of order 1 cancels: x / 2 is used, with an error of x⁴ / 192.
_NEAR = 1e-3


@converts("BesselI0e", "BesselI1e")
def scaled(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """exp(-|x|) times the function, in float64."""
    wide = g.cast(x, dtypes.float64)
    return g.cast(_signed(g, call, wide, _scaled(g, call, g.op("Abs", wide))), x.dtype)


@converts("BesselI0", "BesselI1")
def bessel(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """The scaled function times exp(|x|) in two factors: exp(|x|) overflows before the product."""
    wide = g.cast(x, dtypes.float64)
    size = g.op("Abs", wide)
    root = g.op("Exp", g.binary("Mul", size, 0.5))
    whole = g.op("Mul", root, g.op("Mul", root, _scaled(g, call, size)))
    return g.cast(_signed(g, call, wide, whole), x.dtype)


def _order(call: NodeView) -> int:
    return int("I1" in call.node.op.name)


def _signed(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    return g.op("Mul", g.op("Sign", x), y) if _order(call) else y


def _scaled(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """exp(-x) times the function, for x >= 0.

    Source:
        Abramowitz and Stegun, 9.6.19 and 9.7.1.
    """
    order = _order(call)
    is_far = g.op("Not", g.binary("Less", x, _FAR))
    far = g.where(is_far, x, g.like(x, _FAR))
    near = g.where(is_far, g.like(x, _FAR), x)
    cosines = np.cos(np.pi * np.arange(_HALF + 1) / _HALF)
    weights = np.full(_HALF + 1, 1 / _HALF)
    weights[[0, -1]] /= 2
    powers = g.op("Exp", g.op("Mul", g.unsqueeze(near, x.rank), g.constant(cosines - 1)))
    circle = g.op(
        "ReduceSum",
        g.op("Mul", powers, g.constant(weights * cosines**order)),
        g.ints(x.rank),
        keepdims=0,
    )
    if order:
        half = g.op("Mul", g.binary("Mul", near, 0.5), g.op("Exp", g.op("Neg", near)))
        square = g.binary("Add", g.binary("Mul", g.op("Mul", near, near), 0.125), 1)
        circle = g.where(g.binary("Less", near, _NEAR), g.op("Mul", half, square), circle)
    factors = [-(4 * order - (2 * k - 1) ** 2) / (8 * k) for k in range(1, _TERMS)]
    series = g.like(x, 1)
    inverse = g.op("Reciprocal", far)
    for factor in reversed(factors):
        series = g.binary("Add", g.op("Mul", series, g.binary("Mul", inverse, factor)), 1)
    beyond = g.op("Div", series, g.op("Sqrt", g.binary("Mul", far, 2 * np.pi)))
    return g.where(is_far, beyond, circle)
