"""Blocks of space moved to the channels or the batch, and back."""

from typing import Any

import numpy as np

from pinnace.deploy.onnx.converters.nn import depthwise, layouts, spatial_convolutions
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.graph.known import known_value


@converts("DepthToSpace")
def depth_to_space(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """DepthToSpace in the mode DCR."""
    size = int(call.attr("block_size"))
    if _is_supported(x):
        return _emit(g, call, "DepthToSpace", x, blocksize=size, mode="DCR")
    last = _as_last(g, call, x)
    n, h, w, c = (g.size_of(last, axis) for axis in range(4))
    b = g.ints(size)
    rest = g.op("Div", c, g.ints(size * size))
    wide = g.reshape(last, g.joined(n, h, w, b, b, rest))
    moved = g.transpose(wide, [0, 1, 3, 2, 4, 5])
    whole = g.reshape(moved, g.joined(n, g.op("Mul", h, b), g.op("Mul", w, b), rest))
    return _as_format(g, call, whole)


@converts("SpaceToDepth")
def space_to_depth(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """SpaceToDepth."""
    size = int(call.attr("block_size"))
    if _is_supported(x):
        return _emit(g, call, "SpaceToDepth", x, blocksize=size)
    last = _as_last(g, call, x)
    n, h, w, c = (g.size_of(last, axis) for axis in range(4))
    b = g.ints(size)
    height, width = g.op("Div", h, b), g.op("Div", w, b)
    wide = g.reshape(last, g.joined(n, height, b, width, b, c))
    moved = g.transpose(wide, [0, 1, 3, 2, 4, 5])
    whole = g.reshape(moved, g.joined(n, height, width, g.op("Mul", c, g.ints(size * size))))
    return _as_format(g, call, whole)


def _is_supported(x: Value) -> bool:
    return x.dtype.is_floating


def _emit(g: GraphBuilder, call: NodeView, kind: str, x: Value, **attrs: Any) -> Value:
    if call.attr("data_format") == "NHWC":
        return g.moved(kind, x, **attrs)
    return g.op(kind, x, **attrs)


def _as_last(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    return x if call.attr("data_format") == "NHWC" else g.transpose(x, [0, 2, 3, 1])


def _as_format(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    return x if call.attr("data_format") == "NHWC" else g.transpose(x, [0, 3, 1, 2])


@converts("SpaceToBatchND")
def space_to_batch_nd(
    g: GraphBuilder, call: NodeView, x: Value, block: Value, paddings: Value
) -> Value:
    """Pad, then the positions within a block become part of the batch."""
    return _to_batch(g, x, _blocks(g, call, block), paddings)


@converts("SpaceToBatch")
def space_to_batch(g: GraphBuilder, call: NodeView, x: Value, paddings: Value) -> Value:
    """SpaceToBatchND for images."""
    return _to_batch(g, x, [g.ints(int(call.attr("block_size")))] * 2, paddings)


@converts("BatchToSpaceND")
def batch_to_space_nd(
    g: GraphBuilder, call: NodeView, x: Value, block: Value, crops: Value
) -> Value:
    """The inverse, then Slice; with a convolution between, one dilated Conv."""
    return _dilated(g, call) or _to_space(g, x, _blocks(g, call, block), crops)


@converts("BatchToSpace")
def batch_to_space(g: GraphBuilder, call: NodeView, x: Value, crops: Value) -> Value:
    """BatchToSpaceND for images."""
    return _to_space(g, x, [g.ints(int(call.attr("block_size")))] * 2, crops)


def _blocks(g: GraphBuilder, call: NodeView, block: Value) -> list[Value]:
    known = call.constant(1)
    count = call.input_spec(1).shape.num_elements()
    if count is None:
        call.fail("the length of block_shape must be known")
    sizes = g.as_int64(block) if known is None else g.ints(*known.tolist())
    return [g.slice(sizes, 0, axis, axis + 1) for axis in range(count)]


def _all(g: GraphBuilder, blocks: list[Value]) -> Value:
    """The number of positions in a block."""
    return g.op("ReduceProd", g.joined(*blocks), keepdims=1)


def _to_batch(g: GraphBuilder, x: Value, blocks: list[Value], paddings: Value) -> Value:
    count = len(blocks)
    rows = g.transpose(g.as_int64(paddings), [1, 0])
    ahead, behind = g.slice(rows, 0, 0, 1), g.slice(rows, 0, 1, 2)
    none = g.ints(0)
    rest = [none] * (x.rank - count - 1)
    amounts = g.joined(
        none, g.reshape(ahead, [count]), *rest, none, g.reshape(behind, [count]), *rest
    )
    whole = x if amounts.array is not None and not amounts.array.any() else g.op("Pad", x, amounts)
    sizes = [g.size_of(whole, axis) for axis in range(x.rank)]
    split = [sizes[0]]
    outer = []
    for axis, block in enumerate(blocks, 1):
        outer.append(g.op("Div", sizes[axis], block))
        split += [outer[-1], block]
    split += sizes[count + 1 :]
    inside = [2 * axis for axis in range(1, count + 1)]
    outside = [2 * axis - 1 for axis in range(1, count + 1)]
    moved = g.transpose(
        g.reshape(whole, g.joined(*split)),
        [*inside, 0, *outside, *range(2 * count + 1, x.rank + count)],
    )
    batch = g.op("Mul", sizes[0], _all(g, blocks))
    return g.reshape(moved, g.joined(batch, *outer, *sizes[count + 1 :]))


def _to_space(g: GraphBuilder, x: Value, blocks: list[Value], crops: Value) -> Value:
    count = len(blocks)
    sizes = [g.size_of(x, axis) for axis in range(x.rank)]
    batch = g.op("Div", sizes[0], _all(g, blocks))
    wide = g.reshape(x, g.joined(*blocks, batch, *sizes[1:]))
    order = [count]
    for axis in range(count):
        order += [count + 1 + axis, axis]
    order += range(2 * count + 1, x.rank + count)
    space = [g.op("Mul", sizes[axis], block) for axis, block in enumerate(blocks, 1)]
    whole = g.reshape(g.transpose(wide, order), g.joined(batch, *space, *sizes[count + 1 :]))
    rows = g.transpose(g.as_int64(crops), [1, 0])
    start = g.reshape(g.slice(rows, 0, 0, 1), [count])
    cut = g.reshape(g.slice(rows, 0, 1, 2), [count])
    if (
        cut.array is not None
        and start.array is not None
        and not cut.array.any()
        and not start.array.any()
    ):
        return whole
    return g.op(
        "Slice", whole, start, g.op("Sub", g.joined(*space), cut), g.ints(*range(1, count + 1))
    )


def _dilated(g: GraphBuilder, call: NodeView) -> Value | None:
    """BatchToSpaceND(Conv2D(SpaceToBatchND(x))), an old dilated convolution, as one Conv."""
    node = call.node.inputs[0].node
    if node.op.name not in {"Conv2D", "DepthwiseConv2dNative"}:
        return None
    before = node.inputs[0].node
    if before.op.name != "SpaceToBatchND" or node.attrs["padding"] != "VALID":
        return None
    blocks, crops = call.constant(1), call.constant(2)
    spread, pads = known_value(before.inputs[1]), known_value(before.inputs[2])
    if blocks is None or crops is None or spread is None or pads is None:
        return None
    ones = set(node.attrs["strides"]) | set(node.attrs["dilations"])
    if ones != {1} or node.attrs["data_format"] != "NHWC" or blocks.tolist() != spread.tolist():
        return None
    if len(blocks) != 2 or np.any(pads < crops):
        return None
    x, weights = call.values[before.inputs[0]], call.values[node.inputs[1]]
    taps = spatial_convolutions.known(call, list(weights.shape)[:2])
    pairs = tuple((int(a), int(b)) for a, b in pads - crops)
    rates = tuple(int(rate) for rate in blocks)
    window = layouts.Window(True, (1, 1), rates, pairs, "EXPLICIT")
    if node.op.name == "Conv2D":
        return spatial_convolutions.grouped(g, window, x, weights, taps)
    kernel, taps, channels = depthwise.per_channel_weights(g, call, weights)
    return spatial_convolutions.convolved(g, window, x, kernel, taps, channels)
