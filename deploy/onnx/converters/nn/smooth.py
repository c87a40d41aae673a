"""Smooth activations."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value

_SCALE = 1.0507009873554804934193349852946
_SCALE_ALPHA = 1.7580993408473768599402175208123


@converts("EluGrad")
def elu_grad(g: GraphBuilder, call: NodeView, dy: Value, y: Value) -> Value:
    """dy, times y + 1 where y is negative."""
    del call
    return g.where(g.binary("Less", y, 0), g.op("Mul", dy, g.binary("Add", y, 1)), dy)


@converts("SeluGrad")
def selu_grad(g: GraphBuilder, call: NodeView, dy: Value, y: Value) -> Value:
    """dy, times y + scale alpha where y is negative, times scale elsewhere."""
    del call
    below = g.op("Mul", dy, g.binary("Add", y, _SCALE_ALPHA))
    return g.where(g.binary("Less", y, 0), below, g.binary("Mul", dy, _SCALE))


@converts("SoftplusGrad")
def softplus_grad(g: GraphBuilder, call: NodeView, dy: Value, x: Value) -> Value:
    """`dy sigmoid(x)`."""
    del call
    return g.op("Mul", dy, g.op("Sigmoid", x))


@converts("SoftsignGrad")
def softsign_grad(g: GraphBuilder, call: NodeView, dy: Value, x: Value) -> Value:
    """`dy / (1 + |x|)²`."""
    del call
    base = g.binary("Add", g.op("Abs", x), 1)
    return g.op("Div", dy, g.op("Mul", base, base))
