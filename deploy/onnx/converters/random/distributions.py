"""Gamma, Poisson and binomial numbers."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "draws from TensorFlow's Philox generator, for which there is no converter yet",
    "StatelessRandomGammaV3",
)
