"""Local response normalisation."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("LRN")
def local_response(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """LRN; its alpha is divided by the window's size."""
    size = 2 * int(call.attr("depth_radius")) + 1
    return g.moved(
        "LRN",
        x,
        size=size,
        alpha=float(call.attr("alpha")) * size,
        beta=float(call.attr("beta")),
        bias=float(call.attr("bias")),
    )
