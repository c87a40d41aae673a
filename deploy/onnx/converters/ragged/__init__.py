"""Converters of `core/ops/ragged`."""

from pinnace.deploy.onnx.converters.ragged import conversion as conversion
from pinnace.deploy.onnx.converters.ragged import gathering as gathering
from pinnace.deploy.onnx.converters.ragged import ranges as ranges
