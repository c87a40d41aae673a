"""Sums, products, quotients, and what is left of them."""

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts


@converts("Add", "AddV2")
def add(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """Add; of strings there is none."""
    if x.dtype.name == "string":
        if g.opset < 20:
            call.fail("joining strings needs opset 20")
        return g.op("StringConcat", x, y)
    return g.op("Add", x, y)


@converts("Sub")
def sub(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """Sub."""
    del call
    return g.op("Sub", x, y)


@converts("Mul")
def mul(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """Mul."""
    del call
    return g.op("Mul", x, y)


@converts("RealDiv")
def real_div(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """Div of floats; integers divide towards zero in both."""
    del call
    return g.op("Div", x, y)


@converts("Div", "TruncateDiv")
def truncate_div(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """Div, which rounds integers towards zero; floats are cut for TruncateDiv."""
    quotient = g.op("Div", x, y)
    if call.node.op.name == "TruncateDiv" and x.dtype.is_floating:
        return truncated(g, quotient)
    return quotient


def truncated(g: GraphBuilder, x: Value) -> Value:
    """X without its fraction."""
    return g.where(g.binary("Less", x, 0), g.op("Ceil", x), g.op("Floor", x))


@converts("DivNoNan")
def div_no_nan(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """X / y, 0 where y is 0."""
    del call
    empty = g.binary("Equal", y, 0)
    quotient = g.op("Div", x, g.where(empty, g.like(y, 1), y))
    return g.where(empty, g.like(x, 0), quotient)


@converts("MulNoNan")
def mul_no_nan(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """X * y, 0 where y is 0 whatever x is."""
    del call
    return g.where(g.binary("Equal", y, 0), g.like(x, 0), g.op("Mul", x, y))


@converts("FloorDiv")
def floor_div(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """Floor of the quotient; ONNX cuts integers, so one is taken off where signs differ."""
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
    """The remainder with the sign of y; of floats ONNX has only that with the sign of x."""
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


@converts("Maximum")
def maximum(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """Max."""
    del call
    return g.op("Max", x, y)


@converts("Minimum")
def minimum(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """Min."""
    del call
    return g.op("Min", x, y)


@converts("SquaredDifference")
def squared_difference(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """(x - y)²."""
    del call
    difference = g.op("Sub", x, y)
    return g.op("Mul", difference, difference)


@converts("Neg")
def neg(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Neg, which ONNX has of signed numbers only."""
    del call
    return g.op("Sub", g.like(x, 0), x) if x.dtype.is_unsigned else g.op("Neg", x)


@converts("Square")
def square(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """X * x."""
    del call
    return g.op("Mul", x, x)


@converts("Reciprocal", "Inv")
def reciprocal(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Reciprocal."""
    del call
    return g.op("Reciprocal", x)


@converts("Abs")
def absolute(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Abs."""
    del call
    return g.op("Abs", x)


@converts("Sign")
def sign(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Sign."""
    del call
    return g.op("Sign", x)


@converts("AddN")
def add_n(g: GraphBuilder, call: NodeView, xs: tuple[Value, ...]) -> Value:
    """A chain of Add: Sum lacks integers on CPU and everything on GPUs."""
    del call
    total = xs[0]
    for x in xs[1:]:
        total = g.op("Add", total, x)
    return total


@converts("ReciprocalGrad", "InvGrad")
def reciprocal_grad(g: GraphBuilder, call: NodeView, y: Value, dy: Value) -> Value:
    """-dy y²."""
    del call
    return g.op("Neg", g.op("Mul", dy, g.op("Mul", y, y)))
