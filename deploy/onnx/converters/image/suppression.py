"""Non-maximum suppression."""

from pinnace.deploy.onnx.converters.image import greedy
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("NonMaxSuppressionV2")
def v2(
    g: GraphBuilder, call: NodeView, boxes: Value, scores: Value, most: Value, overlap: Value
) -> Value:
    """NonMaxSuppression for one image and one class."""
    del call
    return selected(g, boxes, scores, most, overlap, None)


@converts("NonMaxSuppressionV3")
def v3(
    g: GraphBuilder,
    call: NodeView,
    boxes: Value,
    scores: Value,
    most: Value,
    overlap: Value,
    least: Value,
) -> Value:
    """NonMaxSuppressionV2 with a score threshold."""
    del call
    return selected(g, boxes, scores, most, overlap, least)


@converts("NonMaxSuppressionV4")
def v4(
    g: GraphBuilder,
    call: NodeView,
    boxes: Value,
    scores: Value,
    most: Value,
    overlap: Value,
    least: Value,
) -> tuple[Value, Value]:
    """NonMaxSuppressionV3, padded with 0, and the number of valid indices."""
    found = selected(g, boxes, scores, most, overlap, least)
    count = g.cast(g.scalar(g.size_of(found, 0)), dtypes.int32)
    return _filled(g, call, found, most), count


@converts("NonMaxSuppressionV5")
def v5(
    g: GraphBuilder,
    call: NodeView,
    boxes: Value,
    scores: Value,
    most: Value,
    overlap: Value,
    least: Value,
    sigma: Value,
) -> tuple[Value, Value, Value]:
    """NonMaxSuppressionV4 with the scores, which may be lowered instead of dropping boxes."""
    softness = call.constant(5)
    if softness is not None and not softness.any():
        found = selected(g, boxes, scores, most, overlap, least)
        values = g.op("Gather", scores, found, axis=0)
    else:
        found, values = _lowered(g, boxes, scores, most, overlap, least, sigma)
        values = g.cast(values, scores.dtype)
    count = g.cast(g.scalar(g.size_of(found, 0)), dtypes.int32)
    return _filled(g, call, found, most), _filled(g, call, values, most), count


def _lowered(
    g: GraphBuilder,
    boxes: Value,
    scores: Value,
    most: Value,
    overlap: Value,
    least: Value,
    sigma: Value,
) -> tuple[Value, Value]:
    floats = [g.cast(value, dtypes.float32) for value in (boxes, scores, overlap, least, sigma)]
    corners, numbers, limit, lowest, width = floats
    soft = g.binary("Greater", width, 0)
    safe = g.where(soft, width, g.like(width, 1))
    scale = g.op("Div", g.like(width, -0.5), safe)
    left = greedy.by_overlap(g, corners, limit, scale, soft)
    places, values = greedy.chosen(g, numbers, g.as_int64(most), lowest, left, soft)
    return g.cast(places, dtypes.int32), values


def selected(
    g: GraphBuilder, boxes: Value, scores: Value, most: Value, overlap: Value, least: Value | None
) -> Value:
    """The indices of the selected boxes, best first; `least` is None without a threshold."""

    def wide(x: Value) -> Value:
        return g.cast(x, dtypes.float32)

    rows = g.op(
        "NonMaxSuppression",
        g.unsqueeze(wide(boxes), 0),
        g.unsqueeze(wide(scores), 0, 1),
        g.reshape(g.as_int64(most), [1]),
        g.reshape(wide(overlap), [1]),
        None if least is None else g.reshape(wide(least), [1]),
    )
    return g.cast(g.op("Gather", rows, g.index(2), axis=1), dtypes.int32)


def _filled(g: GraphBuilder, call: NodeView, x: Value, most: Value) -> Value:
    if not call.attr("pad_to_max_output_size"):
        return x
    room = g.op("Sub", g.reshape(g.as_int64(most), [1]), g.size_of(x, 0))
    return g.op("Pad", x, g.joined(g.ints(0), room))
