"""Tensors with something around them."""

from pinnace.deploy.onnx.converters.array.slicing import FIRST
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
    """Pad with a number."""
    return padded(g, call, x, paddings, number)


def padded(
    g: GraphBuilder, call: NodeView, x: Value, paddings: Value, number: Value | None
) -> Value:
    """Pad: ONNX wants all amounts before, then all amounts after."""
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


@converts("MirrorPad", constants=("paddings",))
def mirror_pad(g: GraphBuilder, call: NodeView, x: Value, paddings: Value) -> Value:
    """Pad in the mode `reflect`; SYMMETRIC, which ONNX has not, from reversed slices."""
    if call.attr("mode") == "REFLECT":
        if x.shape.rank == 0:
            return g.op("Identity", x)
        known = call.constant(1)
        if known is not None:
            amounts = g.ints(*[int(n) for n in known.T.reshape(-1)])
        else:
            amounts = g.reshape(g.transpose(g.as_int64(paddings), [1, 0]), [-1])
        return g.op("Pad", x, amounts, mode="reflect")
    result = x
    for axis, (before, after) in enumerate(call.needed(1, "paddings").tolist()):
        parts = [result]
        if before:
            parts.insert(0, g.slice(result, axis, before - 1, FIRST, -1))
        if after:
            parts.append(g.slice(result, axis, -1, -after - 1, -1))
        result = g.concat(parts, axis)
    return g.op("Identity", x) if result is x else result
