"""Boxes drawn into pictures."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "ONNX draws no boxes; return them beside the picture",
    "DrawBoundingBoxes",
    "DrawBoundingBoxesV2",
)
