"""Isotonic regression."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "joins runs of values until none rise, as often as the values say: no ONNX operator does",
    "IsotonicRegression",
)
