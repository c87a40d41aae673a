"""Converters of `core/ops/functional`."""

from pinnace.deploy.onnx.converters.functional import conditions as conditions
from pinnace.deploy.onnx.converters.functional import loops as loops
