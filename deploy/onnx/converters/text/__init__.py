"""Converters of `core/ops/text`."""

from pinnace.deploy.onnx.converters.text import pieces as pieces
