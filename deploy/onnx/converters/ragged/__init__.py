"""Converters of `core/ops/ragged`."""

from pinnace.deploy.onnx.converters.ragged import conversion as conversion
