"""Repetition of tensors."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("Tile")
def tile(g: GraphBuilder, call: NodeView, x: Value, multiples: Value) -> Value:
    """Tile."""
    del call
    return g.op("Tile", x, g.as_int64(multiples)) if x.rank else g.op("Identity", x)
