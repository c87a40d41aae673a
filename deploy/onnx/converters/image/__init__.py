"""Converters of `core/ops/image`."""

from pinnace.deploy.onnx.converters.image import cropping as cropping
from pinnace.deploy.onnx.converters.image import resizing as resizing
from pinnace.deploy.onnx.converters.image import suppression as suppression
