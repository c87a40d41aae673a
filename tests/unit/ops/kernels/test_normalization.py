"""Batch norm against their formulas in float64 and finite differences."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.ops.kernels.normalization import (
    batch_norm_inference,
    batch_norm_inference_gradient,
    batch_norm_training,
    batch_norm_training_gradient,
)
from pinnace.ops.kernels.precision import Array

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)
seeds = st.integers(0, 2**32 - 1)
EPSILON = 1e-3


def drawn(shape: tuple[int, ...], seed: int) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    x, dy = rng.standard_normal((2, *shape))
    scale, offset = rng.standard_normal((2, shape[-1]))
    return x, dy, scale, offset


@given(shape=shapes, seed=seeds)
def test_training_normalises_by_the_moments_of_the_batch(shape: Any, seed: int) -> None:
    x, _, scale, offset = drawn(shape, seed)
    axes = tuple(range(x.ndim - 1))
    count = x.size // shape[-1]
    result = batch_norm_training(x, scale, offset, EPSILON)
    mean, variance = x.mean(axis=axes), x.var(axis=axes)
    expected = scale * (x - mean) / np.sqrt(variance + EPSILON) + offset
    np.testing.assert_allclose(result.y, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(result.mean, mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(result.biased_variance, variance, rtol=1e-9, atol=1e-9)
    unbiased = variance * count / max(count - 1, 1)
    np.testing.assert_allclose(result.variance, unbiased, rtol=1e-9, atol=1e-9)
    y = batch_norm_inference(x, scale, offset, mean, variance, EPSILON)
    np.testing.assert_allclose(y, expected, rtol=1e-9, atol=1e-9)


@given(shape=shapes, seed=seeds, training=st.booleans())
def test_batch_norm_gradients_are_finite_differences(shape: Any, seed: int, training: bool) -> None:
    x, dy, scale, offset = drawn(shape, seed)
    mean, variance = np.full(shape[-1], 0.3), np.full(shape[-1], 1.7)

    def forward(x: Array, scale: Array, offset: Array) -> Array:
        if training:
            return batch_norm_training(x, scale, offset, EPSILON).y
        return batch_norm_inference(x, scale, offset, mean, variance, EPSILON)

    if training:
        result = batch_norm_training(x, scale, offset, EPSILON)
        gradients = batch_norm_training_gradient(
            dy, x, scale, result.mean, result.biased_variance, EPSILON
        )
    else:
        gradients = batch_norm_inference_gradient(dy, x, scale, mean, variance, EPSILON)
    check_gradients(forward, (x, scale, offset), gradients, dy)


def check_gradients(forward: Any, values: Any, gradients: Any, dy: Array) -> None:
    rng = np.random.default_rng(1)
    # Variances near 0 bend sharply, on the scale of sqrt(EPSILON).
    step = 1e-6
    for i, (value, gradient) in enumerate(zip(values, gradients, strict=True)):
        direction = rng.standard_normal(value.shape)
        ahead, behind = list(values), list(values)
        ahead[i], behind[i] = value + step * direction, value - step * direction
        numeric = np.sum(dy * (forward(*ahead) - forward(*behind))) / (2 * step)
        np.testing.assert_allclose(np.sum(gradient * direction), numeric, rtol=1e-4, atol=1e-4)


def test_a_mean_far_from_zero_costs_no_digits() -> None:
    x = (1e4 + np.random.default_rng(0).standard_normal((4096, 3))).astype(np.float32)
    one, zero = np.ones(3, np.float32), np.zeros(3, np.float32)
    result = batch_norm_training(x, one, zero, 0.0)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(result.biased_variance, exact.var(axis=0), rtol=1e-4)
    expected = (exact - exact.mean(axis=0)) / exact.std(axis=0)
    np.testing.assert_allclose(result.y, expected, atol=2e-3)


def test_rows_that_take_several_blocks() -> None:
    x = np.random.default_rng(0).standard_normal((3, 50, 50, 61)).astype(np.float32)
    one, zero = np.ones(61, np.float32), np.zeros(61, np.float32)
    result = batch_norm_training(x, one, zero, 0.0)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(result.variance, exact.var(axis=(0, 1, 2), ddof=1), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_16_bit_floats_keep_float32_parameters(dtype: Any) -> None:
    x = np.arange(12).reshape(3, 4).astype(dtype)
    one, zero = np.ones(4, np.float32), np.zeros(4, np.float32)
    result = batch_norm_training(x, one, zero, 1e-3)
    assert result.y.dtype == dtype
    assert result.mean.dtype == result.variance.dtype == np.float32
    gradients = batch_norm_training_gradient(x, x, one, result.mean, result.biased_variance, 1e-3)
    assert [g.dtype for g in gradients] == [dtype, np.float32, np.float32]


def test_an_empty_batch_has_no_mean() -> None:
    x, one = np.empty((0, 3), np.float32), np.ones(3, np.float32)
    result = batch_norm_training(x, one, one, 1e-3)
    assert result.y.shape == (0, 3)
    assert np.isnan(result.mean).all()
    dx, dscale, _ = batch_norm_training_gradient(x, x, one, one, one, 1e-3)
    assert dx.shape == (0, 3)
    assert not dscale.any()
