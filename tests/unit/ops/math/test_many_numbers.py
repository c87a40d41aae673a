"""Quotients, remainders and buckets of many numbers are those of Python's numbers."""

import numpy as np
import pytest

import pinnace as tf


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_many_integers(dtype: str) -> None:
    random = np.random.default_rng(1)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = random.integers(least, most, (40, 50), dtype=dtype, endpoint=True)
    y = random.integers(max(least, -60), 60, (40, 50)).astype(dtype)
    x[:, 0], x[:, 1], y[:, 2:5], y[:, 5:7] = least, most, most, most - 1
    y[(y == 0) | (y == -1)] = 1
    pairs = ((x, y), (x, y[:1, 9:10]), (x, y[:, :1]), (x[:1], y), (x.T, y.T))
    for a, b in pairs:
        wide = np.broadcast_arrays(a.astype(object), b.astype(object))
        np.testing.assert_array_equal(tf.math.floordiv(a, b), (wide[0] // wide[1]).astype(dtype))
        np.testing.assert_array_equal(tf.math.floormod(a, b), (wide[0] % wide[1]).astype(dtype))
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        tf.math.floormod(x, np.zeros_like(x))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("count", [0, 3, 32, 33])
def test_many_buckets(dtype: str, count: int) -> None:
    random = np.random.default_rng(count)
    edges = np.sort(random.integers(-20, 20, count)).astype(np.float32).tolist()
    x = random.integers(-22, 22, (40, 30)).astype(dtype)
    if dtype != "int32":
        x[0, :3] = np.nan, np.inf, -np.inf
    wanted = [[sum(not one < edge for edge in edges) for one in row] for row in x.tolist()]
    for given, right in ((x, wanted), (x.T, np.transpose(wanted)), (x[:2], wanted[:2])):
        found = tf.raw_ops.Bucketize(input=given, boundaries=edges)
        np.testing.assert_array_equal(found, right)
        assert found.dtype == tf.int32
