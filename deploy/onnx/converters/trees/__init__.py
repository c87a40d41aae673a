"""Converters of `core/ops/trees`."""

from pinnace.deploy.onnx.converters.trees import boosted as boosted
from pinnace.deploy.onnx.converters.trees import decision_forests as decision_forests
