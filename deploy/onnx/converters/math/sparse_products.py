"""Products of matrices with many zeros, as ordinary products."""

from pinnace.deploy.onnx.converters.math.products import mat_mul
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework.dtypes import float32


@converts("SparseMatMul")
def sparse_mat_mul(g: GraphBuilder, call: NodeView, a: Value, b: Value) -> Value:
    """MatMul in float32."""
    return mat_mul(g, call, g.cast(a, float32), g.cast(b, float32))
