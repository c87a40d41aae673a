"""Reductions of short rows and columns, against NumPy's in float64."""

from __future__ import annotations

import numpy as np
import pytest

import pinnace as tf


@pytest.mark.parametrize(
    "shape", [(40, 300, 3), (2, 9000, 2), (3, 70, 80, 3), (6000, 7), (5000, 2)]
)
@pytest.mark.parametrize("keepdims", [False, True])
def test_short_rows_and_columns(shape: tuple[int, ...], keepdims: bool) -> None:
    x = np.random.default_rng(0).uniform(0.5, 1.5, shape).astype(np.float32)
    reductions = [
        (tf.reduce_sum, np.sum, x),
        (tf.reduce_mean, np.mean, x),
        (tf.reduce_max, np.max, x),
        (tf.reduce_min, np.min, x),
        (tf.reduce_max, np.max, (x * 1e6).astype(np.int32)),
        (tf.reduce_min, np.min, x.astype(np.float64)),
        (tf.reduce_any, np.any, x > 1.49),
        (tf.reduce_all, np.all, x > 0.51),
    ]
    axes = [-1, list(range(1, len(shape) - 1)) or [0], list(range(len(shape) - 1))]
    for axis in axes:
        for ours, numpy, given in reductions:
            wide = given.astype(np.float64) if given.dtype == np.float32 else given
            where = tuple(axis) if isinstance(axis, list) else axis
            wanted = numpy(wide, axis=where, keepdims=keepdims)
            found = ours(given, axis, keepdims=keepdims).numpy()
            assert found.dtype == given.dtype
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=2e-6)
    some = x[..., :3]
    np.testing.assert_allclose(
        tf.reduce_prod(some, -1), some.astype(np.float64).prod(-1), rtol=1e-6
    )
    x.reshape(-1)[7] = np.nan
    for axis in axes:
        where = tuple(axis) if isinstance(axis, list) else axis
        np.testing.assert_array_equal(tf.reduce_max(x, axis), x.max(where))
