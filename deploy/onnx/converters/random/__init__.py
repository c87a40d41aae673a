"""Converters of `core/ops/random`."""

from pinnace.deploy.onnx.converters.random import distributions as distributions
from pinnace.deploy.onnx.converters.random import keys as keys
from pinnace.deploy.onnx.converters.random import shuffling as shuffling
from pinnace.deploy.onnx.converters.random import stateful as stateful
from pinnace.deploy.onnx.converters.random import stateless as stateless
