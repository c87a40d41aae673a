"""Converters of `core/ops/sparse`."""

from pinnace.deploy.onnx.converters.sparse import arithmetic as arithmetic
from pinnace.deploy.onnx.converters.sparse import counting as counting
from pinnace.deploy.onnx.converters.sparse import density as density
from pinnace.deploy.onnx.converters.sparse import filling as filling
from pinnace.deploy.onnx.converters.sparse import order as order
from pinnace.deploy.onnx.converters.sparse import products as products
from pinnace.deploy.onnx.converters.sparse import reduction as reduction
from pinnace.deploy.onnx.converters.sparse import segments as segments
from pinnace.deploy.onnx.converters.sparse import sets as sets
