"""Padding."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("Pad")
def pad(g: GraphBuilder, call: NodeView, x: Value, paddings: Value) -> Value:
    """Pad with 0."""
    return padded(g, call, x, paddings, None)


@converts("PadV2")
def pad_v2(g: GraphBuilder, call: NodeView, x: Value, paddings: Value, number: Value) -> Value:
    """Pad with a given value."""
    return padded(g, call, x, paddings, number)


def padded(
    g: GraphBuilder, call: NodeView, x: Value, paddings: Value, number: Value | None
) -> Value:
    """Pad; ONNX takes all amounts before, then all amounts after."""
    if x.rank == 0:
        return g.op("Identity", x)
    known = call.constant(1)
    if known is not None:
        if not known.any():
            return g.op("Identity", x)
        amounts = g.ints(*[int(n) for n in known.T.reshape(-1)])
    else:
        amounts = g.reshape(g.transpose(g.as_int64(paddings), [1, 0]), [-1])
    return g.op("Pad", x, amounts, number)


@converts("MirrorPad")
def mirror_pad(g: GraphBuilder, call: NodeView, x: Value, paddings: Value) -> Value:
    """Pad in the mode `reflect`; SYMMETRIC, which ONNX lacks, by Gather."""
    if x.rank == 0:
        return g.op("Identity", x)
    known = call.constant(1)
    pairs = g.as_int64(paddings) if known is None else g.constant(known.astype(np.int64))
    if call.attr("mode") == "REFLECT":
        return g.op("Pad", x, g.reshape(g.transpose(pairs, [1, 0]), [-1]), mode="reflect")
    result = x
    for axis in range(x.rank):
        if known is None or known[axis].any():
            amounts = g.reshape(g.slice(pairs, 0, axis, axis + 1), [2])
            result = g.op("Gather", result, _mirrored(g, g.size_of(x, axis), amounts), axis=axis)
    return g.op("Identity", x) if result is x else result


def _mirrored(g: GraphBuilder, size: Value, amounts: Value) -> Value:
    """The source index of each position of a mirrored axis."""
    count = g.op("Add", size, g.op("ReduceSum", amounts, keepdims=1))
    place = g.op("Sub", g.iota(g.scalar(count)), g.slice(amounts, 0, 0, 1))
    place = g.op("Max", place, g.op("Sub", g.ints(-1), place))
    return g.op(
        "Min", place, g.op("Sub", g.op("Mul", size, g.ints(2)), g.op("Add", place, g.ints(1)))
    )
