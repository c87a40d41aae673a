"""Converters of `core/ops/quantization`."""

from pinnace.deploy.onnx.converters.quantization import round_trip as round_trip
from pinnace.deploy.onnx.converters.quantization import simulated as simulated
