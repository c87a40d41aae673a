"""Sums of several tensors."""

from pinnace.deploy.onnx.converters.math.arithmetic import add_n
from pinnace.deploy.onnx.converters.registry import converts

converts("AccumulateNV2")(add_n)
