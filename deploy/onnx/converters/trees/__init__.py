"""Converters of `core/ops/trees`."""

from pinnace.deploy.onnx.converters.trees import boosted as boosted
