"""Converters of `core/ops/nn/pooling`."""

from pinnace.deploy.onnx.converters.nn.pooling import maxima as maxima
from pinnace.deploy.onnx.converters.nn.pooling import means as means
from pinnace.deploy.onnx.converters.nn.pooling import places as places
