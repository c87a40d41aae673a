"""Shapes as tensors."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("Shape")
def shape(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Shape, which is int64 in ONNX."""
    return g.cast(g.shape_of(x), call.dtype("out_type"))


@converts("ShapeN")
def shape_n(g: GraphBuilder, call: NodeView, xs: tuple[Value, ...]) -> tuple[Value, ...]:
    """Shape of each input."""
    return tuple(g.cast(g.shape_of(x), call.dtype("out_type")) for x in xs)


@converts("Rank")
def rank(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """The rank."""
    del call
    if x.shape.rank is None:
        return g.cast(g.op("Size", g.op("Shape", x)), dtypes.int32)
    return g.constant(np.array(x.rank, np.int32))


@converts("Size")
def size(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Size."""
    return g.cast(g.op("Size", x), call.dtype("out_type"))


@converts("EnsureShape")
def ensure_shape(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """The value itself: its consumers check the shape."""
    made = g.op("Identity", x)
    made.refine(call.output_spec().shape)
    return made


@converts("BroadcastArgs")
def broadcast_args(g: GraphBuilder, call: NodeView, first: Value, second: Value) -> Value:
    """The larger size of each axis, aligned from the last; 0 takes precedence over 1."""
    del call
    one = g.ints(1)
    length = g.op("Max", g.shape_of(first), g.shape_of(second))

    def padded(x: Value) -> Value:
        missing = g.op("Sub", length, g.shape_of(x))
        return g.joined(g.op("Expand", one, missing), g.as_int64(x))

    a, b = padded(first), padded(second)
    return g.cast(g.where(g.op("Equal", a, one), b, a), first.dtype)
