"""Converters of `core/ops/state`."""

from pinnace.deploy.onnx.converters.state import variables as variables
