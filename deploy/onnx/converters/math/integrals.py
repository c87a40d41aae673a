"""Functions that are integrals."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "is an integral that ONNX has not, and for which there is no formula here",
    "Dawsn",
    "Expint",
    "FresnelCos",
    "FresnelSin",
    "Spence",
)
