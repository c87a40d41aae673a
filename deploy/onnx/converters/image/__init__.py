"""Converters of `core/ops/image`."""

from pinnace.deploy.onnx.converters.image import colour as colour
from pinnace.deploy.onnx.converters.image import cropping as cropping
from pinnace.deploy.onnx.converters.image import detection as detection
from pinnace.deploy.onnx.converters.image import patches as patches
from pinnace.deploy.onnx.converters.image import projecting as projecting
from pinnace.deploy.onnx.converters.image import resizing as resizing
from pinnace.deploy.onnx.converters.image import suppression as suppression
