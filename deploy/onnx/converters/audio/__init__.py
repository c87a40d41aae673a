"""Converters of `core/ops/audio`."""

from pinnace.deploy.onnx.converters.audio import spectra as spectra
