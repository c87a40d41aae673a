"""Converters of `core/ops/array`."""

from pinnace.deploy.onnx.converters.array import casting as casting
from pinnace.deploy.onnx.converters.array import constants as constants
from pinnace.deploy.onnx.converters.array import identities as identities
from pinnace.deploy.onnx.converters.array import joining as joining
from pinnace.deploy.onnx.converters.array import padding as padding
from pinnace.deploy.onnx.converters.array import reshaping as reshaping
from pinnace.deploy.onnx.converters.array import shapes as shapes
from pinnace.deploy.onnx.converters.array import slicing as slicing
