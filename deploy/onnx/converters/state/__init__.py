"""Converters of `core/ops/state`."""

from pinnace.deploy.onnx.converters.state import scatters as scatters
from pinnace.deploy.onnx.converters.state import tables as tables
from pinnace.deploy.onnx.converters.state import tensor_lists as tensor_lists
from pinnace.deploy.onnx.converters.state import variables as variables
