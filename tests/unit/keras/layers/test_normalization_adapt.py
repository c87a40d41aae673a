"""Normalization: mean and variance from data."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.keras import layers


@settings(max_examples=25, deadline=None)
@given(
    count=st.integers(2, 40),
    batch=st.integers(1, 9),
    offset=st.floats(-1e3, 1e3),
    axis=st.sampled_from([-1, None, (1, 2)]),
)
def test_batches_give_what_the_whole_gives(
    count: int, batch: int, offset: float, axis: Any
) -> None:
    x = np.random.default_rng(count).standard_normal((count, 3, 2)).astype(np.float32) + offset
    x = x.astype(np.float32)
    axes = {-1: (0, 1), None: (0, 1, 2), (1, 2): (0,)}[axis]
    whole, parts = layers.Normalization(axis=axis), layers.Normalization(axis=axis)
    whole.adapt(x)
    parts.adapt(tf.data.Dataset.from_tensor_slices(x).batch(batch))
    wide = x.astype(np.float64)
    for layer in (whole, parts):
        np.testing.assert_allclose(layer.mean, wide.mean(axes, keepdims=True), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(
            layer.variance, wide.var(axes, keepdims=True), rtol=1e-4, atol=1e-6
        )
    deviation = np.maximum(wide.std(axes, keepdims=True), 1e-7)
    wanted = (wide - wide.mean(axes, keepdims=True)) / deviation
    # float32 has seven digits, of which x - mean loses those of the offset of x.
    np.testing.assert_allclose(parts(x), wanted, rtol=1e-3, atol=2e-3)


def test_what_was_given_is_not_looked_for() -> None:
    layer = layers.Normalization(mean=[1.0, 2.0], variance=[4.0, 9.0])
    np.testing.assert_allclose(layer(np.array([[3.0, 5.0]], np.float32)), [[1.0, 1.0]])
    with pytest.raises(ValueError, match="given to the constructor"):
        layer.adapt(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="both"):
        layers.Normalization(mean=1.0)
    assert not layer.weights
