"""Quotients and remainders."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("Div", "TruncateDiv")
def truncate_div(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """Div, which rounds integers towards zero; for TruncateDiv floats are truncated."""
    quotient = g.op("Div", x, y)
    if call.node.op.name == "TruncateDiv" and x.dtype.is_floating:
        return truncated(g, quotient)
    return quotient


def truncated(g: GraphBuilder, x: Value) -> Value:
    """`x` without its fraction."""
    return g.where(g.binary("Less", x, 0), g.op("Ceil", x), g.op("Floor", x))


@converts("DivNoNan")
def div_no_nan(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """`x / y`, and 0 where y is 0."""
    del call
    empty = g.binary("Equal", y, 0)
    quotient = g.op("Div", x, g.where(empty, g.like(y, 1), y))
    return g.where(empty, g.like(x, 0), quotient)


@converts("FloorDiv")
def floor_div(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """Floor of the quotient; ONNX truncates integers, so 1 is subtracted if the signs differ."""
    del call
    quotient = g.op("Div", x, y)
    if x.dtype.is_floating:
        return g.op("Floor", quotient)
    if x.dtype.is_unsigned:
        return quotient
    rest = g.op("Sub", x, g.op("Mul", quotient, y))
    other_sign = g.op("Xor", g.binary("Less", rest, 0), g.binary("Less", y, 0))
    lower = g.op("And", other_sign, g.op("Not", g.binary("Equal", rest, 0)))
    return g.op("Sub", quotient, g.cast(lower, x.dtype))


@converts("FloorMod")
def floor_mod(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """The remainder with the sign of y; for floats ONNX has only that with the sign of x."""
    del call
    if not x.dtype.is_floating:
        return g.op("Mod", x, y)
    rest = g.op("Mod", x, y, fmod=1)
    other_sign = g.op("Xor", g.binary("Less", rest, 0), g.binary("Less", y, 0))
    moved = g.op("And", other_sign, g.op("Not", g.binary("Equal", rest, 0)))
    return g.where(moved, g.op("Add", rest, y), rest)


@converts("TruncateMod", "Mod")
def truncate_mod(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """The remainder with the sign of x."""
    del call
    return g.op("Mod", x, y, fmod=1)
