"""Converters of `core/ops/sparse`."""

from pinnace.deploy.onnx.converters.sparse import density as density
from pinnace.deploy.onnx.converters.sparse import products as products
from pinnace.deploy.onnx.converters.sparse import segments as segments
