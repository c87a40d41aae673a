"""Converters of `core/ops/math`."""

from pinnace.deploy.onnx.converters.math import accumulation as accumulation
from pinnace.deploy.onnx.converters.math import arithmetic as arithmetic
from pinnace.deploy.onnx.converters.math import bits as bits
from pinnace.deploy.onnx.converters.math import clipping as clipping
from pinnace.deploy.onnx.converters.math import comparison as comparison
from pinnace.deploy.onnx.converters.math import complexes as complexes
from pinnace.deploy.onnx.converters.math import counting as counting
from pinnace.deploy.onnx.converters.math import cumulation as cumulation
from pinnace.deploy.onnx.converters.math import division as division
from pinnace.deploy.onnx.converters.math import einstein as einstein
from pinnace.deploy.onnx.converters.math import error_and_gamma as error_and_gamma
from pinnace.deploy.onnx.converters.math import exponents as exponents
from pinnace.deploy.onnx.converters.math import extremes as extremes
from pinnace.deploy.onnx.converters.math import histograms as histograms
from pinnace.deploy.onnx.converters.math import polar as polar
from pinnace.deploy.onnx.converters.math import products as products
from pinnace.deploy.onnx.converters.math import ranges as ranges
from pinnace.deploy.onnx.converters.math import reduction as reduction
from pinnace.deploy.onnx.converters.math import rounding as rounding
from pinnace.deploy.onnx.converters.math import segments as segments
from pinnace.deploy.onnx.converters.math import sparse_products as sparse_products
from pinnace.deploy.onnx.converters.math import tails as tails
from pinnace.deploy.onnx.converters.math import trigonometry as trigonometry
