"""Maxima and means over windows, their gradients, and functions that use them."""

from pinnace.ops.nn.pooling.functions import avg_pool as avg_pool
from pinnace.ops.nn.pooling.functions import avg_pool1d as avg_pool1d
from pinnace.ops.nn.pooling.functions import avg_pool2d as avg_pool2d
from pinnace.ops.nn.pooling.functions import avg_pool3d as avg_pool3d
from pinnace.ops.nn.pooling.functions import max_pool as max_pool
from pinnace.ops.nn.pooling.functions import max_pool1d as max_pool1d
from pinnace.ops.nn.pooling.functions import max_pool2d as max_pool2d
from pinnace.ops.nn.pooling.functions import max_pool3d as max_pool3d
from pinnace.ops.nn.pooling.functions import max_pool_with_argmax as max_pool_with_argmax
from pinnace.ops.nn.pooling.functions import pool as pool

__all__ = [
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_with_argmax",
    "pool",
]
