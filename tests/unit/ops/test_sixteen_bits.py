"""Elementwise ops and pools on large arrays of 16-bit floats: float64's results, rounded once."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf

_RANDOM = np.random.default_rng(11)
X = _RANDOM.normal(scale=3, size=(4, 12, 12, 6)).astype(np.float32)
Y = _RANDOM.normal(size=(12, 6)).astype(np.float32)
# With ops, their formulas in float64.
FORMULAS = {
    "add": (tf.add, np.add),
    "subtract": (tf.subtract, np.subtract),
    "multiply": (tf.multiply, np.multiply),
    "maximum": (tf.maximum, np.maximum),
    "bias": (lambda x, y: tf.nn.bias_add(x, y[0]), lambda x, y: x + y[0]),
    "relu": (lambda x, _: tf.nn.relu(x), lambda x, _: np.maximum(x, 0)),
    "sigmoid": (lambda x, _: tf.sigmoid(x), lambda x, _: 1 / (1 + np.exp(-x))),
    "exp": (lambda x, _: tf.exp(-tf.abs(x)), lambda x, _: np.exp(-np.abs(x))),
    "where": (lambda x, y: tf.where(x > 0, x, y), lambda x, y: np.where(x > 0, x, y)),
    "add_n": (lambda x, _: tf.add_n([x, x, x]), lambda x, _: 3 * x),
    "comparison": (lambda x, y: tf.cast(x > y, x.dtype), lambda x, y: x > y),
    "peaks": (
        lambda x, _: tf.nn.max_pool2d(x, 2, 2, "VALID"),
        lambda x, _: x.reshape(4, 6, 2, 6, 2, 6).max((2, 4)),
    ),
    "means": (
        lambda x, _: tf.nn.avg_pool2d(x, 2, 2, "VALID"),
        lambda x, _: x.reshape(4, 6, 2, 6, 2, 6).mean((2, 4)),
    ),
}


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", FORMULAS)
def test_the_result_is_rounded_once(name: str, dtype: tf.DType) -> None:
    op, formula = FORMULAS[name]
    x, y = tf.cast(X, dtype), tf.cast(Y, dtype)
    a, b = (one.numpy().astype(np.float64) for one in (x, y))
    wanted = formula(a, b)
    eps = 2.0**-10 if dtype is tf.float16 else 2.0**-7
    for found in (op(x, y), tf.function(op)(x, y)):
        assert found.dtype is dtype
        error = np.abs(found.numpy().astype(np.float64) - wanted)
        assert (error <= 0.51 * eps * np.abs(wanted) + 1e-7).all()


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16], ids=lambda dtype: dtype.name)
def test_values_that_are_no_numbers_and_few_numbers(dtype: tf.DType) -> None:
    special = np.resize(np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e30, -1e30]), 2100)
    for x in (special, special[:5], special[:0]):
        given = tf.cast(x.astype(np.float32), dtype)
        wide = given.numpy().astype(np.float32)
        with np.errstate(all="ignore"):
            wanted = (wide + wide).astype(given.numpy().dtype)
        for found in (given + given, tf.function(tf.add)(given, given)):
            np.testing.assert_array_equal(
                found.numpy().astype(np.float32), wanted.astype(np.float32)
            )


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16], ids=lambda dtype: dtype.name)
def test_gradients_have_the_dtype_and_nearly_the_values(dtype: tf.DType) -> None:
    def slopes(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.max_pool2d(tf.nn.relu(x * x - x), 3, 2, "SAME")
            total = tf.reduce_sum(tf.cast(y, tf.float32))
        return tape.gradient(total, x)

    x = tf.cast(X, dtype)
    found = slopes(x)
    assert found.dtype is dtype
    exact = 2 * x.numpy().astype(np.float32) - 1
    moved = found.numpy().astype(np.float32)
    hit = moved != 0
    assert 0.1 < hit.mean() < 0.6
    times = np.round(moved[hit] / exact[hit])  # windows overlap: an element may win several
    np.testing.assert_allclose(moved[hit], times * exact[hit], rtol=3e-2, atol=1e-2)
