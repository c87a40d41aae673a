"""Reductions over axes, and where the largest is."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


def reduced(g: GraphBuilder, call: NodeView, kind: str, x: Value, axes: Value) -> Value:
    """An operator that reduces the axes in its second input; no axes, and nothing is reduced."""
    known = call.constant(1)
    keep = int(call.attr("keep_dims"))
    if known is not None:
        found = [int(axis) for axis in known.reshape(-1)]
        if x.shape.rank is not None:
            found = sorted({axis % x.rank for axis in found}) if x.rank else []
        if not found:
            return g.op("Abs" if kind == "ReduceL2" else "Identity", x)
        if (
            kind == "ReduceMean"
            and any(x.size(axis) == 0 for axis in found)
            and x.dtype.is_floating
        ):
            # The mean of nothing is NaN; ONNX Runtime gives 0.
            nothing = g.op("ReduceSum", x, g.ints(*found), keepdims=keep)
            return g.binary("Div", nothing, 0)
        return g.op(kind, x, g.ints(*found), keepdims=keep)
    listed = g.as_int64(axes)
    if listed.shape.rank == 0:
        listed = g.unsqueeze(listed, 0)
    return g.op(kind, x, listed, keepdims=keep, noop_with_empty_axes=1)


_KINDS = {"Sum": "ReduceSum", "Prod": "ReduceProd"}


@converts(*_KINDS)
def reduction(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """ReduceSum, ReduceProd."""
    return reduced(g, call, _KINDS[call.node.op.name], x, axes)


@converts("Mean")
def mean(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """ReduceMean; of integers the sum divided by the count, which rounds as the kernel does."""
    return reduced(g, call, "ReduceMean", x, axes)


@converts("Max")
def maximum(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """ReduceMax."""
    return reduced(g, call, "ReduceMax", x, axes)


@converts("Min")
def minimum(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """ReduceMin."""
    return reduced(g, call, "ReduceMin", x, axes)


@converts("EuclideanNorm")
def euclidean_norm(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """ReduceL2."""
    return reduced(g, call, "ReduceL2", x, axes)


@converts("All")
def every(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """The minimum, as bytes."""
    return g.cast(reduced(g, call, "ReduceMin", g.cast(x, dtypes.int32), axes), dtypes.bool)


@converts("Any")
def some(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """The maximum, as bytes; a sum, so that of nothing it is false."""
    return g.cast(reduced(g, call, "ReduceSum", g.cast(x, dtypes.int32), axes), dtypes.bool)
