"""Incomplete gamma and Bessel functions."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "ONNX has no such function",
    "IgammaGradA",
    "BesselI0",
    "BesselI0e",
    "BesselI1",
    "BesselI1e",
)
