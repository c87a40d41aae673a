"""Eager ops on large arrays, and functions of one such op: the same bits, near float64's values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import special

import pinnace as tf
from pinnace.framework import config
from pinnace.ops.kernels import team

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = [(128, 128), (600, 901), (1 << 14,), (3, 7, 1021)]
OPS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "exp": (tf.exp, np.exp),
    "expm1": (tf.math.expm1, np.expm1),
    "tanh": (tf.tanh, np.tanh),
    "sigmoid": (tf.sigmoid, special.expit),
    "erf": (tf.math.erf, special.erf),
    "log": (lambda x: tf.math.log(tf.abs(x)), lambda x: np.log(np.abs(x))),
    "log1p": (lambda x: tf.math.log1p(tf.abs(x)), lambda x: np.log1p(np.abs(x))),
    "softplus": (tf.nn.softplus, lambda x: np.logaddexp(x, 0)),
    "elu": (tf.nn.elu, lambda x: np.where(x > 0, x, np.expm1(x))),
    "softmax": (tf.nn.softmax, lambda x: special.softmax(x, -1)),
    "log_softmax": (tf.nn.log_softmax, lambda x: special.log_softmax(x, -1)),
    "where": (lambda x: tf.where(x > 0, x, -2 * x), lambda x: np.where(x > 0, x, -2 * x)),
    "where one": (lambda x: tf.where(x > 0, x, 3.0), lambda x: np.where(x > 0, x, 3)),
}
ops = pytest.mark.parametrize("name", OPS)


def drawn(shape: tuple[int, ...]) -> Any:
    return (np.random.default_rng(0).standard_normal(shape) * 4).astype(np.float32)


@ops
@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_values(name: str, shape: tuple[int, ...]) -> None:
    function, reference = OPS[name]
    x = drawn(shape)
    found = [function(tf.constant(x)).numpy() for _ in range(3)]
    # The largest result of a row of log_softmax is a difference of numbers near 0.
    atol = 1e-6 if name == "log_softmax" else 1e-37
    np.testing.assert_allclose(found[0], reference(x.astype(np.float64)), rtol=4e-6, atol=atol)
    traced = tf.function(function)(tf.constant(x)).numpy()
    for other in (*found[1:], traced):
        np.testing.assert_array_equal(other, found[0])


@ops
def test_bits_do_not_depend_on_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, _ = OPS[name]
    x = tf.constant(drawn((700, 901)))
    found = function(x).numpy()
    monkeypatch.setattr(team, "size", lambda: 1)
    np.testing.assert_array_equal(function(x).numpy(), found)


@ops
def test_numbers_that_are_not_finite(name: str) -> None:
    function, _ = OPS[name]
    x = drawn((200, 128))
    x[3, 5], x[4, 6], x[5, 7] = np.nan, np.inf, -np.inf
    found = function(tf.constant(x)).numpy()
    few = [function(tf.constant(row)).numpy() for row in x[3:6]]  # NumPy's kernels
    np.testing.assert_allclose(found[3:6], few, rtol=4e-6)


@ops
def test_an_array_that_is_not_contiguous(name: str) -> None:
    function, _ = OPS[name]
    x = drawn((256, 300))
    wanted = function(tf.constant(np.ascontiguousarray(x.T))).numpy()
    np.testing.assert_array_equal(function(tf.transpose(x)).numpy(), wanted)
    np.testing.assert_array_equal(function(tf.constant(x)[:, ::2]).shape, (256, 150))


@ops
def test_gradients(name: str) -> None:
    function, _ = OPS[name]
    x = tf.constant(drawn((40, 500)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    large = tape.gradient(y, x).numpy()
    x = x[:2]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    np.testing.assert_allclose(large[:2], tape.gradient(y, x).numpy(), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float16", "complex64"])
def test_other_dtypes_have_numpys_kernels(dtype: str) -> None:
    x = tf.cast(drawn((128, 130)) / 4, dtype)
    np.testing.assert_array_equal(tf.exp(x).numpy(), np.exp(x.numpy()))


def test_without_machine_code_numpy_computes_it() -> None:
    x = drawn((128, 128))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config.settings, "tier", "plan")
        np.testing.assert_array_equal(tf.tanh(tf.constant(x)).numpy(), np.tanh(x))
