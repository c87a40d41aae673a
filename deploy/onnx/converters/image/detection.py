"""What detectors end with."""

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.converters.image.suppression import selected
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts, refuses


@converts("NonMaxSuppression")
def v1(g: GraphBuilder, call: NodeView, boxes: Value, scores: Value, most: Value) -> Value:
    """NonMaxSuppressionV2 with the overlap in an attribute."""
    return selected(g, boxes, scores, most, g.like(boxes, call.attr("iou_threshold")), None)


refuses(
    "there is no converter yet; NonMaxSuppression of one class has one",
    "CombinedNonMaxSuppression",
)

refuses(
    "ONNX suppresses by boxes, not by a table of overlaps",
    "NonMaxSuppressionWithOverlaps",
)
