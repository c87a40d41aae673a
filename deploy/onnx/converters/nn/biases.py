"""BiasAdd and its gradient."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("BiasAdd", "BiasAddV1")
def bias_add(g: GraphBuilder, call: NodeView, x: Value, bias: Value) -> Value:
    """Add; with channels first the bias gets trailing axes."""
    return g.op("Add", x, per_channel(g, call, x, bias))


def per_channel(g: GraphBuilder, call: NodeView, x: Value, bias: Value) -> Value:
    """A vector reshaped to broadcast along the channels of `x`."""
    first = "data_format" in call.node.op.attrs and call.attr("data_format").startswith("NC")
    if not first or x.rank <= 2:
        return bias
    return g.unsqueeze(bias, *range(1, x.rank - 1))


@converts("BiasAddGrad")
def bias_add_grad(g: GraphBuilder, call: NodeView, dy: Value) -> Value:
    """The sum over all axes but the channels."""
    first = call.attr("data_format") == "NCHW" and dy.rank > 2
    channels = 1 if first else dy.rank - 1
    return g.op("ReduceSum", dy, g.ints(*[a for a in range(dy.rank) if a != channels]), keepdims=0)
