"""One-hot vectors, and coordinates of flat indices."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("OneHot")
def one_hot(
    g: GraphBuilder, call: NodeView, indices: Value, depth: Value, on: Value, off: Value
) -> Value:
    """indices == 0, 1, ... depth - 1: ONNX's OneHot counts negative indices from the end."""
    axis = int(call.attr("axis"))
    place = indices.rank if axis == -1 else axis
    classes = g.iota(g.as_int64(depth))
    if place != indices.rank:
        classes = g.unsqueeze(classes, *range(1, indices.rank - place + 1))
    hot = g.op("Equal", g.unsqueeze(g.as_int64(indices), place), classes)
    return g.where(hot, on, off)


@converts("UnravelIndex")
def unravel_index(g: GraphBuilder, call: NodeView, indices: Value, dims: Value) -> Value:
    """The indices along each axis, by remainders from the last axis on."""
    count = dims.size(0)
    if count is None:
        call.fail("the length of dims must be known")
    rest, found = indices, []
    for axis in reversed(range(count)):
        size = g.op("Gather", dims, g.index(axis), axis=0)
        found.append(g.op("Mod", rest, size))
        rest = g.op("Div", rest, size)
    found.reverse()
    return g.concat([g.unsqueeze(row, 0) for row in found], 0)
