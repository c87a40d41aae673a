"""Bits of integers."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType

_UNSIGNED: dict[DType, DType] = {
    dtypes.int8: dtypes.uint32,
    dtypes.int16: dtypes.uint32,
    dtypes.int32: dtypes.uint32,
    dtypes.int64: dtypes.uint64,
    dtypes.uint16: dtypes.uint32,
}


def _bounded(g: GraphBuilder, x: Value, y: Value) -> Value:
    """Shifts clamped to [0, width - 1], as in the kernel."""
    return g.op("Clip", y, g.like(y, 0), g.like(y, x.dtype.size * 8 - 1))


@converts("LeftShift")
def left_shift(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """BitShift of the bits as an unsigned integer."""
    del call
    kind = _UNSIGNED.get(x.dtype, x.dtype)
    shift = g.cast(_bounded(g, x, y), kind)
    return g.cast(g.op("BitShift", g.cast(x, kind), shift, direction="LEFT"), x.dtype)


@converts("RightShift")
def right_shift(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """BitShift; negative numbers are shifted as complements, which keeps the sign."""
    del call
    kind = _UNSIGNED.get(x.dtype, x.dtype)
    shift = g.cast(_bounded(g, x, y), kind)
    if x.dtype.is_unsigned:
        return g.cast(g.op("BitShift", g.cast(x, kind), shift, direction="RIGHT"), x.dtype)
    negative = g.binary("Less", x, 0)
    plain = g.where(negative, g.op("BitwiseNot", x), x)
    moved = g.cast(g.op("BitShift", g.cast(plain, kind), shift, direction="RIGHT"), x.dtype)
    return g.where(negative, g.op("BitwiseNot", moved), moved)


@converts("PopulationCount")
def population_count(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """The sum of all bits, each shifted to the lowest position."""
    del call
    unsigned = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}
    kind = unsigned[x.dtype.size]
    bits = g.constant(
        np.left_shift(np.array(1, kind.numpy), np.arange(8 * kind.size, dtype=kind.numpy))
    )
    kept = g.op("BitwiseAnd", g.unsqueeze(g.cast(x, kind), x.rank), bits)
    found = g.op("Not", g.op("Equal", kept, g.like(kept, 0)))
    total = g.op("ReduceSum", g.cast(found, dtypes.int32), g.ints(x.rank), keepdims=0)
    return g.cast(total, dtypes.uint8)
