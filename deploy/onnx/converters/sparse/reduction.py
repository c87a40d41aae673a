"""Sums of sparse tensors."""

from pinnace.deploy.onnx.converters.array.scattering import scattered
from pinnace.deploy.onnx.converters.math import reduction
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("SparseReduceSum")
def total(
    g: GraphBuilder, call: NodeView, indices: Value, values: Value, shape: Value, axes: Value
) -> Value:
    """ReduceSum of the dense tensor."""
    zeros = g.fill(shape, g.like(values, 0))
    dense = scattered(g, zeros, indices, values, "add")
    keep = int(bool(call.attr("keep_dims")))
    known = call.constant(3)
    if known is not None and not known.size:
        return reduction.total(g, dense, keep=keep)
    return reduction.total(g, dense, g.reshape(g.as_int64(axes), [-1]), keep=keep)
