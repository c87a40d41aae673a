"""Determinants."""

from pinnace.deploy.onnx.converters.linalg.solving import eliminated, flat_batch
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("LogMatrixDeterminant")
def log_determinant(g: GraphBuilder, call: NodeView, x: Value) -> tuple[Value, Value]:
    """The sign and the logarithm of the product of the pivots."""
    del call
    a = flat_batch(g, x)
    found = eliminated(g, a, g.slice(a, 2, 0, 0))
    signs = g.op("ReduceProd", g.op("Sign", found.pivots), g.ints(0), keepdims=0)
    sizes = g.op("Log", g.op("Abs", found.pivots))
    parts = g.op("Mul", signs, found.swaps), g.op("ReduceSum", sizes, g.ints(0), keepdims=0)
    lead = g.shape_of(x, 0, x.rank - 2)
    return g.reshape(parts[0], lead), g.reshape(parts[1], lead)
