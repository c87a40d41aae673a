"""Indices of the largest and the smallest elements along an axis."""

from pinnace.deploy.onnx.converters.array.permutations import Moved
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType


@converts("ArgMax", "ArgMin")
def arg_extreme(g: GraphBuilder, call: NodeView, x: Value, axis: Value) -> Value:
    """ArgMax or ArgMin: the first of equal elements in both; always int64 in ONNX."""
    kind = call.node.op.name
    known = call.axes(1, x.rank)
    x = comparable(g, x)
    if known is None:
        x, known = Moved(g, axis, x.rank).there(x), [0]
    found = g.op(kind, x, axis=known[0], keepdims=0)
    return g.cast(found, call.dtype("output_type"))


_WIDER: dict[DType, DType] = {dtypes.bool: dtypes.int32}


def comparable(g: GraphBuilder, x: Value) -> Value:
    """Bools as integers."""
    return g.cast(x, _WIDER.get(x.dtype, x.dtype))
