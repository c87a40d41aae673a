"""Converters of `core/ops/control`."""

from pinnace.deploy.onnx.converters.control import grouping as grouping
