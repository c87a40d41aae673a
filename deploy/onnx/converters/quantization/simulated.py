"""Floats rounded as quantisation rounds."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "there is no converter yet; ONNX would write a QuantizeLinear and a DequantizeLinear",
    "FakeQuantWithMinMaxArgs",
    "FakeQuantWithMinMaxVars",
    "FakeQuantWithMinMaxVarsPerChannel",
    "QuantizeAndDequantizeV2",
    "QuantizeAndDequantizeV3",
    "QuantizeAndDequantizeV4",
)

refuses(
    "is a gradient, which an exported model does not compute",
    "FakeQuantWithMinMaxArgsGradient",
    "FakeQuantWithMinMaxVarsGradient",
    "FakeQuantWithMinMaxVarsPerChannelGradient",
)
