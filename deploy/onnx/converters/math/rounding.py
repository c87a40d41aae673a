"""Rounding of floats to integral values."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("Round", "Rint")
def nearest(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Round; both round halves to even."""
    del call
    return g.op("Round", x) if x.dtype.is_floating else g.op("Identity", x)
