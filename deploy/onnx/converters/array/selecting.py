"""Selection by a condition."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("Select")
def select(g: GraphBuilder, call: NodeView, condition: Value, x: Value, y: Value) -> Value:
    """Where; a vector condition selects rows."""
    del call
    if condition.rank == 1 and x.rank > 1:
        condition = g.unsqueeze(condition, *range(1, x.rank))
    return g.where(condition, x, y)


@converts("Where")
def where(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """NonZero, transposed; for a scalar, one empty row or none."""
    del call
    if x.rank == 0:
        count = g.reshape(g.as_int64(g.cast(x, dtypes.bool)), [1])
        return g.op("Expand", g.constant(np.zeros((1, 0), np.int64)), g.joined(count, g.ints(0)))
    return g.transpose(g.op("NonZero", g.cast(x, dtypes.bool)), [1, 0])
