"""Conversion of sparse to dense tensors."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("SparseToDense")
def sparse_to_dense(
    g: GraphBuilder, call: NodeView, indices: Value, sizes: Value, values: Value, other: Value
) -> Value:
    """ScatterND into a tensor of the default value."""
    rank = call.input_spec(1).shape.num_elements()
    if rank is None:
        call.fail("the rank of the result must be known")
    places = g.as_int64(indices)
    if places.rank < 2:
        places = g.reshape(places, [-1, rank])
    each = values if values.rank else g.expand(values, g.size_of(places, 0))
    return g.op("ScatterND", g.fill(g.as_int64(sizes), other), places, each)
