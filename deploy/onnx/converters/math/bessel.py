"""Bessel functions."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "is a Bessel function, which ONNX has not, and for which there is no formula here",
    "BesselJ0",
    "BesselJ1",
    "BesselK0",
    "BesselK0e",
    "BesselK1",
    "BesselK1e",
    "BesselY0",
    "BesselY1",
)
