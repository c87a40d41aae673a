"""Shapes that broadcast."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "gives axes to sum a gradient over, which ONNX wants to know when the file is written",
    "BroadcastGradientArgs",
)
