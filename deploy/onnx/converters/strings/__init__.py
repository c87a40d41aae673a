"""Converters of `core/ops/strings`."""

from pinnace.deploy.onnx.converters.strings import conversion as conversion
from pinnace.deploy.onnx.converters.strings import joining as joining
from pinnace.deploy.onnx.converters.strings import patterns as patterns
from pinnace.deploy.onnx.converters.strings import splitting as splitting
