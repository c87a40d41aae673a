"""Floats as small integers."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "there is no converter yet; ranges of ONNX are a scale and a zero point",
    "QuantizeV2",
    "Dequantize",
)
