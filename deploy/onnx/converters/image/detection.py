"""Non-maximum suppression of detectors."""

import numpy as np

from pinnace.deploy.onnx.converters.image import greedy
from pinnace.deploy.onnx.converters.image.suppression import selected
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("NonMaxSuppression")
def v1(g: GraphBuilder, call: NodeView, boxes: Value, scores: Value, most: Value) -> Value:
    """NonMaxSuppressionV2 with the overlap as an attribute."""
    return selected(g, boxes, scores, most, g.like(boxes, call.attr("iou_threshold")), None)


@converts("CombinedNonMaxSuppression")
def combined(
    g: GraphBuilder,
    call: NodeView,
    boxes: Value,
    scores: Value,
    per_class: Value,
    total: Value,
    overlap: Value,
    least: Value,
) -> tuple[Value, Value, Value, Value]:
    """One NonMaxSuppression over all images and classes, and TopK of the results."""
    kept = _kept(g, boxes, scores, per_class, overlap, least)
    rows = g.reshape(g.as_int64(total), [1])
    if call.attr("pad_per_class"):
        most = g.op("Mul", g.reshape(g.as_int64(per_class), [1]), g.size_of(scores, 2))
        rows = g.op("Min", rows, most)
    best, places = g.ops("TopK", 2, kept, g.op("Min", rows, g.size_of(kept, 1)), axis=1)
    chosen = g.binary("Greater", best, -np.inf)
    count = g.size_of(scores, 1)
    labels = g.op("Div", places, count)
    # Boxes may differ between classes or be common to them.
    of_class = g.op("Min", labels, g.op("Sub", g.size_of(boxes, 2), g.ints(1)))
    where = [g.unsqueeze(index, 2) for index in (g.op("Mod", places, count), of_class)]
    found = g.op("GatherND", boxes, g.concat(where, 2), batch_dims=1)
    if call.attr("clip_boxes"):
        found = g.op("Clip", found, g.like(found, 0), g.like(found, 1))
    zero = g.like(scores, 0)
    room = g.op("Sub", rows, g.size_of(kept, 1))
    room = g.op("Max", room, g.ints(0))
    results = [
        g.where(g.unsqueeze(chosen, 2), found, zero),
        g.where(chosen, best, zero),
        g.where(chosen, g.cast(labels, dtypes.float32), zero),
    ]
    filled = [
        g.op("Pad", x, g.joined(g.ints(*[0] * (x.rank + 1)), room, *[g.ints(0)] * (x.rank - 2)))
        for x in results
    ]
    number = g.op("ReduceSum", g.as_int64(chosen), g.ints(1), keepdims=0)
    return filled[0], filled[1], filled[2], g.cast(number, dtypes.int32)


def _kept(
    g: GraphBuilder, boxes: Value, scores: Value, per_class: Value, overlap: Value, least: Value
) -> Value:
    """[batch, classes * boxes]: the scores of the selected boxes, -inf for the others."""
    of_classes = g.transpose(scores, [0, 2, 1])
    sizes = g.shape_of(of_classes)
    limits = (g.reshape(g.as_int64(per_class), [1]), g.reshape(overlap, [1]), g.reshape(least, [1]))
    flat = g.joined(g.size_of(scores, 0), g.ints(-1))
    nothing = g.like(scores, -np.inf)
    if boxes.size(2) == 1:
        rows = g.op("NonMaxSuppression", g.squeeze(boxes, 2), of_classes, *limits)
        values = g.op("GatherND", of_classes, rows)
        return g.reshape(g.op("ScatterND", g.fill(sizes, nothing), rows, values), flat)
    # ONNX has no boxes per class, so each class becomes an image.
    each = g.transpose(boxes, [0, 2, 1, 3])
    if boxes.size(2) is None or boxes.size(2) != scores.size(2):
        each = g.expand(each, g.joined(sizes, g.ints(4)))
    count = g.size_of(scores, 1)
    alone = g.reshape(of_classes, g.joined(g.ints(-1, 1), count))
    each = g.reshape(each, g.joined(g.size_of(alone, 0), count, g.ints(4)))
    rows = g.op("NonMaxSuppression", each, alone, *limits)
    values = g.op("GatherND", alone, rows)
    return g.reshape(g.op("ScatterND", g.fill(g.shape_of(alone), nothing), rows, values), flat)


@converts("NonMaxSuppressionWithOverlaps")
def with_overlaps(
    g: GraphBuilder,
    call: NodeView,
    overlaps: Value,
    scores: Value,
    most: Value,
    overlap: Value,
    least: Value,
) -> Value:
    """Suppression by a matrix of overlaps, box by box."""
    del call
    left = greedy.by_table(overlaps, overlap)
    places, _ = greedy.chosen(g, scores, g.as_int64(most), least, left, None)
    return g.cast(places, dtypes.int32)
