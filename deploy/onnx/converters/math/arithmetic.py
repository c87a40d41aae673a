"""Sums, products and differences."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("Add", "AddV2")
def add(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """Add, or StringConcat for strings."""
    if x.dtype.name == "string":
        if g.opset < 20:
            call.fail("concatenation of strings needs opset 20")
        return g.op("StringConcat", x, y)
    return g.op("Add", x, y)


@converts("MulNoNan")
def mul_no_nan(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """`x * y`, and 0 where y is 0, even for infinite x."""
    del call
    return g.where(g.binary("Equal", y, 0), g.like(x, 0), g.op("Mul", x, y))


@converts("SquaredDifference")
def squared_difference(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """(x - y)²."""
    del call
    difference = g.op("Sub", x, y)
    return g.op("Mul", difference, difference)


@converts("Neg")
def neg(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Neg, which ONNX has for signed types only."""
    del call
    return g.op("Sub", g.like(x, 0), x) if x.dtype.is_unsigned else g.op("Neg", x)


@converts("Square")
def square(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """`x * x`."""
    del call
    return g.op("Mul", x, x)


@converts("AddN")
def add_n(g: GraphBuilder, call: NodeView, xs: tuple[Value, ...]) -> Value:
    """A chain of Adds: Sum has no integer kernels on CPU, and none on GPUs."""
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
