"""What detectors end with."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "there is no converter yet; NonMaxSuppressionV2 to V5 have one",
    "CombinedNonMaxSuppression",
    "NonMaxSuppression",
)

refuses(
    "ONNX suppresses by boxes, not by a table of overlaps",
    "NonMaxSuppressionWithOverlaps",
)
