"""Constants, and tensors filled with a scalar."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("Fill")
def fill(g: GraphBuilder, call: NodeView, sizes: Value, number: Value) -> Value:
    """Expand of the scalar."""
    del call
    return g.fill(g.as_int64(sizes), number)


@converts("ZerosLike")
def zeros_like(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Expand of 0, as a product with 0 would keep NaN."""
    del call
    zero = g.constant(np.array(b"", object)) if x.dtype is dtypes.string else g.like(x, 0)
    return g.fill(g.shape_of(x), zero)


@converts("OnesLike")
def ones_like(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Expand of 1."""
    del call
    return g.fill(g.shape_of(x), g.like(x, 1))
