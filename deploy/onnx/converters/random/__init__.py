"""Converters of `core/ops/random`."""

from pinnace.deploy.onnx.converters.random import candidates as candidates
from pinnace.deploy.onnx.converters.random import distributions as distributions
from pinnace.deploy.onnx.converters.random import indices as indices
from pinnace.deploy.onnx.converters.random import stateful as stateful
from pinnace.deploy.onnx.converters.random import stateless as stateless
from pinnace.deploy.onnx.converters.random import truncation as truncation
