"""Converters of `core/ops/control` and `core/ops/functional`."""

from pinnace.deploy.onnx.converters.control import calls as calls
