"""Counts of values and of buckets."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("Bincount")
def bincount(g: GraphBuilder, call: NodeView, x: Value, size: Value, weights: Value) -> Value:
    """Ones scattered and added."""
    return _counted(g, call, g.reshape(x, [-1]), size, weights, binary=False)


@converts("DenseBincount")
def dense_bincount(g: GraphBuilder, call: NodeView, x: Value, size: Value, weights: Value) -> Value:
    """Bincount, row by row for a matrix."""
    binary = bool(call.attr("binary_output"))
    if x.rank <= 1:
        return _counted(g, call, g.reshape(x, [-1]), size, weights, binary=binary)
    room = g.op("Add", g.as_int64(size), g.index(1))
    rows = g.size_of(x, 0)
    starts = g.unsqueeze(g.op("Mul", g.iota(g.scalar(rows)), room), 1)
    places = g.op("Add", g.op("Min", g.as_int64(x), g.as_int64(size)), starts)
    total = g.op("Mul", rows, room)
    flat = added(g, call, g.reshape(places, [-1]), total, weights, binary=binary)
    table = g.reshape(flat, g.joined(rows, g.reshape(room, [1])))
    return g.slice(table, 1, 0, g.reshape(g.as_int64(size), [1]))


def _counted(
    g: GraphBuilder, call: NodeView, x: Value, size: Value, weights: Value, *, binary: bool
) -> Value:
    """Values out of range are counted in an extra bin, which is removed."""
    count = g.as_int64(size)
    places = g.op("Min", g.as_int64(x), count)
    room = g.reshape(g.op("Add", count, g.index(1)), [1])
    whole = added(g, call, places, room, weights, binary=binary)
    return g.slice(whole, 0, 0, g.reshape(count, [1]))


def added(
    g: GraphBuilder, call: NodeView, places: Value, room: Value, weights: Value, *, binary: bool
) -> Value:
    """Ones, or the weights, scattered and added in a vector."""
    amount = call.input_spec(len(call.node.op.inputs) - 1).shape.num_elements()
    if amount is None and not binary:
        call.fail("the number of weights must be known")
    if binary or amount == 0:
        each = g.fill(g.shape_of(places), g.like(weights, 1))
    else:
        each = g.reshape(weights, [-1])
    zeros = g.fill(room, g.like(weights, 0))
    reduction = "max" if binary else "add"
    return g.op("ScatterElements", zeros, places, each, axis=0, reduction=reduction)


@converts("Bucketize")
def bucketize(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """The number of boundaries not above x; NaN is above all."""
    edges = np.asarray(call.attr("boundaries"), np.float32)
    wide = dtypes.float32 if x.dtype is dtypes.float32 else dtypes.float64
    below = g.op("Less", g.unsqueeze(g.cast(x, wide), x.rank), g.constant(edges.astype(wide.numpy)))
    inside = g.cast(g.op("Not", below), dtypes.int32)
    return g.op("ReduceSum", inside, g.ints(x.rank), keepdims=0)


@converts("InTopKV2")
def in_top_k(
    g: GraphBuilder, call: NodeView, predictions: Value, targets: Value, k: Value
) -> Value:
    """Whether fewer than k elements of a row exceed the target's; false for rows with NaN."""
    del call
    wanted = g.as_int64(targets)
    classes = g.scalar(g.size_of(predictions, 1))
    chosen = g.op("Equal", g.unsqueeze(wanted, 1), g.iota(classes))
    own = g.op(
        "ReduceSum", g.where(chosen, predictions, g.like(predictions, 0)), g.ints(1), keepdims=1
    )
    better = g.op("ReduceSum", g.as_int64(g.op("Greater", predictions, own)), g.ints(1), keepdims=0)
    odd = g.op("Not", g.binary("Equal", g.op("Sub", predictions, predictions), 0))
    clean = g.binary("Equal", g.op("ReduceSum", g.as_int64(odd), g.ints(1), keepdims=0), 0)
    inside = g.op("And", g.binary("GreaterOrEqual", wanted, 0), g.op("Less", wanted, classes))
    few = g.op("Less", better, g.as_int64(k))
    return g.op("And", g.op("And", inside, clean), few)


@converts("InTopK")
def in_top_of_attribute(
    g: GraphBuilder, call: NodeView, predictions: Value, targets: Value
) -> Value:
    """InTopKV2 with k as an attribute."""
    return in_top_k(g, call, predictions, targets, g.index(int(call.attr("k"))))
