"""Comparisons."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("Equal")
def equal(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """Equal, which ONNX has for strings since opset 19."""
    return _equal(g, call, x, y)


@converts("NotEqual")
def not_equal(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """The negation of Equal."""
    return g.op("Not", _equal(g, call, x, y))


def _equal(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    if x.dtype is dtypes.string:
        if g.opset < 19:
            call.fail("comparing strings needs opset 19")
        return g.op("Equal", x, y)
    if (
        not call.attr("incompatible_shape_error")
        and x.shape.is_fully_defined()
        and y.shape.is_fully_defined()
    ):
        pairs = zip(reversed(list(x.shape)), reversed(list(y.shape)), strict=False)
        if any(a != b and 1 not in (a, b) for a, b in pairs):
            return g.constant(False)
    return g.op("Equal", x, y)


@converts("IsFinite")
def is_finite(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """x - x == 0, which is false for NaN and infinity."""
    del call
    return g.binary("Equal", g.op("Sub", x, x), 0)


@converts("ApproximateEqual")
def approximate_equal(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """|x - y| < tolerance."""
    distance = g.op("Abs", g.op("Sub", x, y))
    if x.dtype.is_floating:
        return g.binary("Less", distance, call.attr("tolerance"))
    return g.binary("Less", g.cast(distance, dtypes.float64), call.attr("tolerance"))
