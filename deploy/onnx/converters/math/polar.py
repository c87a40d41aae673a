"""Magnitudes and angles of complex numbers."""

from pinnace.deploy.onnx.converters.math.trigonometry import atan2
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts_pairs
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.complex_pairs import Pair
from pinnace.deploy.onnx.ir.graph import Value


@converts_pairs("ComplexAbs", always=True)
def absolute(g: GraphBuilder, call: NodeView, z: Pair) -> Value:
    """sqrt(x² + y²), with both parts divided by the larger one so that no square overflows."""
    x, y = g.op("Abs", z.real), g.op("Abs", z.imaginary)
    large, small = g.op("Max", x, y), g.op("Min", x, y)
    safe = g.where(g.binary("Equal", large, 0), g.like(large, 1), large)
    ratio = g.op("Div", small, safe)
    length = g.op("Mul", large, g.op("Sqrt", g.binary("Add", g.op("Mul", ratio, ratio), 1)))
    return g.cast(length, call.dtype("Tout"))


@converts_pairs("Angle", always=True)
def angle(g: GraphBuilder, call: NodeView, z: Pair) -> Value:
    """The angle from the real axis."""
    return g.cast(atan2(g, call, z.imaginary, z.real), call.dtype("Tout"))
