"""Relu and its variants."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("Relu")
def relu(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Relu; for unsigned types x itself."""
    del call
    return g.op("Identity", x) if x.dtype.is_unsigned else g.op("Relu", x)


@converts("Relu6")
def relu6(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Clip."""
    del call
    return g.op("Clip", x, g.like(x, 0), g.like(x, 6))


@converts("LeakyRelu")
def leaky_relu(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """LeakyRelu; alpha is always written, as the defaults differ."""
    return g.op("LeakyRelu", x, alpha=float(call.attr("alpha")))


@converts("ReluGrad")
def relu_grad(g: GraphBuilder, call: NodeView, dy: Value, x: Value) -> Value:
    """`dy` where x is positive, else 0."""
    del call
    return g.where(g.binary("Greater", x, 0), dy, g.like(dy, 0))


@converts("Relu6Grad")
def relu6_grad(g: GraphBuilder, call: NodeView, dy: Value, x: Value) -> Value:
    """`dy` where x is between 0 and 6, else 0."""
    del call
    inside = g.op("And", g.binary("Greater", x, 0), g.binary("Less", x, 6))
    return g.where(inside, dy, g.like(dy, 0))


@converts("LeakyReluGrad")
def leaky_relu_grad(g: GraphBuilder, call: NodeView, dy: Value, x: Value) -> Value:
    """dy where x is positive, else alpha dy."""
    return g.where(g.binary("Greater", x, 0), dy, g.binary("Mul", dy, call.attr("alpha")))
