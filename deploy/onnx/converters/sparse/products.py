"""Products with sparse matrices."""

from pinnace.deploy.onnx.converters.math.products import transposed
from pinnace.deploy.onnx.converters.math.segments import summed
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("SparseTensorDenseMatMul")
def sparse_times_dense(
    g: GraphBuilder, call: NodeView, indices: Value, values: Value, sizes: Value, b: Value
) -> Value:
    """Rows of b times the values, added up by the values' rows."""
    flip = int(call.attr("adjoint_a"))
    right = transposed(g, b) if call.attr("adjoint_b") else b
    wide = g.as_int64(indices)
    rows, columns = (g.op("Gather", wide, g.index(n), axis=1) for n in (flip, 1 - flip))
    height = g.slice(g.as_int64(sizes), 0, flip, flip + 1)
    parts = g.op("Mul", g.op("Gather", right, columns, axis=0), g.unsqueeze(values, 1))
    return summed(g, parts, rows, height, "add", g.like(b, 0))
