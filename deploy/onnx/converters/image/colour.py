"""Colours."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "there is no converter yet; ONNX has no op for other spaces of colours",
    "RGBToHSV",
    "HSVToRGB",
    "AdjustHue",
    "AdjustSaturation",
    "AdjustContrastv2",
)
