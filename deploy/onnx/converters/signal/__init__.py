"""Converters of `core/ops/signal`."""

from pinnace.deploy.onnx.converters.signal import fourier as fourier
