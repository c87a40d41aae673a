"""Floats as small integers."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "has a quantized dtype, whose range stands beside it; ONNX has integers alone",
    "QuantizeV2",
    "Dequantize",
)
