"""Converters of `core/ops/quantization`."""

from pinnace.deploy.onnx.converters.quantization import simulated as simulated
