"""Converters of `core/ops/linalg`."""

from pinnace.deploy.onnx.converters.linalg import bands as bands
from pinnace.deploy.onnx.converters.linalg import batched as batched
from pinnace.deploy.onnx.converters.linalg import determinants as determinants
from pinnace.deploy.onnx.converters.linalg import earlier as earlier
from pinnace.deploy.onnx.converters.linalg import factorization as factorization
from pinnace.deploy.onnx.converters.linalg import solving as solving
from pinnace.deploy.onnx.converters.linalg import tridiagonal as tridiagonal
