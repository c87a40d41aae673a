"""Converters of `core/ops/audio`."""

from pinnace.deploy.onnx.converters.audio import spectra as spectra
from pinnace.deploy.onnx.converters.audio import waves as waves
