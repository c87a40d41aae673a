"""Patches of images."""

from collections.abc import Sequence

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("ExtractImagePatches", "ExtractVolumePatches")
def extract_patches(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """The patches as rows, gathered axis by axis."""
    inner = slice(1, x.rank - 1)
    taps = call.attr("ksizes")[inner]
    rates = call.attr("rates")[inner] if "rates" in call.node.op.attrs else (1,) * len(taps)
    y = windows(g, x, taps, call.attr("strides")[inner], rates, call.attr("padding"))
    depth = g.size_of(x, x.rank - 1)
    for tap in taps:
        depth = g.op("Mul", depth, g.ints(tap))
    return g.reshape(y, g.joined(g.shape_of(y, 0, len(taps) + 1), depth))


def windows(
    g: GraphBuilder,
    x: Value,
    taps: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
) -> Value:
    """[batch, windows of each axis..., taps of each axis..., channels]; 0 outside `x`.

    Args:
        g: the graph.
        x: [batch, positions..., channels].
        taps: the window's size, per spatial axis.
        strides: between windows.
        rates: between taps.
        padding: SAME or VALID.
    """
    spatial = x.rank - 2
    # A plane of zeros at the end of each axis stands for everything outside.
    behind = [0, *[1] * spatial, 0]
    y = g.op("Pad", x, g.ints(*[0] * x.rank, *behind))
    for axis in range(spatial):
        size = g.size_of(x, axis + 1)
        places = _places(g, size, taps[axis], strides[axis], rates[axis], padding)
        y = g.op("Gather", y, places, axis=axis * 2 + 1)
    order = [0, *range(1, 2 * spatial, 2), *range(2, 2 * spatial + 1, 2), 2 * spatial + 1]
    return g.transpose(y, order)


def _places(g: GraphBuilder, size: Value, tap: int, stride: int, rate: int, padding: str) -> Value:
    """[windows, taps]: the index that each tap reads; the axis size for taps outside."""
    reach = (tap - 1) * rate + 1
    room = g.op("Sub", size, g.ints(reach)) if padding == "VALID" else g.op("Sub", size, g.ints(1))
    # Rounded down, as a negative remainder must not count as a window.
    count = g.op(
        "Div", g.op("Add", g.op("Max", room, g.ints(-stride)), g.ints(stride)), g.ints(stride)
    )
    starts = g.op("Mul", g.unsqueeze(g.iota(g.scalar(count)), 1), g.ints(stride))
    offsets = g.ints(*[n * rate for n in range(tap)])
    places = g.op("Add", starts, offsets)
    if padding == "VALID":
        return places
    covered = g.op("Add", g.op("Mul", g.op("Sub", count, g.ints(1)), g.ints(stride)), g.ints(reach))
    before = g.op("Div", g.op("Max", g.op("Sub", covered, size), g.ints(0)), g.ints(2))
    places = g.op("Sub", places, before)
    outside = g.op("Or", g.binary("Less", places, 0), g.op("Not", g.op("Less", places, size)))
    return g.where(outside, size, places)
