"""Zeros of either sign are distinct constants, although they are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import config

if TYPE_CHECKING:
    from collections.abc import Callable


def divided(x: Any) -> Any:
    return tf.exp(x) * 0.0 + (tf.tanh(x) + 2.0) / tf.constant(-0.0)


def divided_by_both(x: Any) -> Any:
    y = tf.exp(x)
    return y / tf.constant(0.0) + 0.0 * x, y / tf.constant(-0.0), y * tf.constant(-0.0)


def chosen(x: Any) -> Any:
    return 1.0 / tf.where(tf.tanh(x) > 0.0, tf.constant(-0.0), tf.exp(x) * 0.0)


def by_row(x: Any) -> Any:
    y = tf.reduce_sum(tf.exp(x), -1, keepdims=True)
    return x * 0.0 + y / tf.constant(-0.0)


def network(x: Any) -> Any:
    y = tf.matmul(tf.nn.relu(tf.matmul(x, tf.ones((16, 16)))), tf.ones((16, 16)))
    return (tf.square(y) + 1.0) / tf.constant(-0.0) + tf.maximum(y, 0.0)


def loop(x: Any) -> Any:
    for _ in tf.range(3):
        x = tf.tanh(x) * 0.0 + (tf.exp(x) + 1.0) / tf.constant(-0.0)
        x = tf.maximum(x, -5.0)
    return 1.0 / (x * tf.constant(-0.0))


def test_minus_minus_zero_is_plus_zero() -> None:
    x = tf.constant([-0.0, 0.0, 1.0])
    found = tf.function(lambda x: x - tf.constant(-0.0))(x).numpy()
    np.testing.assert_array_equal(np.signbit(found), np.signbit((x - tf.constant(-0.0)).numpy()))
    assert not np.signbit(found).any()


@pytest.mark.parametrize("rows", [2, 700])
@pytest.mark.parametrize(
    "program", [divided, divided_by_both, chosen, by_row, network, loop], ids=lambda f: f.__name__
)
def test_each_has_its_sign(program: Callable[..., Any], rows: int) -> None:
    x = tf.constant(np.random.default_rng(0).standard_normal((rows, 16)).astype(np.float32))

    def called(tier: Any) -> list[Any]:
        config.set_tier(tier)
        return [one.numpy() for one in tf.nest.flatten(tf.function(program)(x))]

    saved = config.get_tier()
    try:
        wanted, found = called("plan"), called("compiled")
    finally:
        config.set_tier(saved)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
        sure = ~np.isnan(other)
        np.testing.assert_array_equal(np.signbit(one)[sure], np.signbit(other)[sure])
        np.testing.assert_array_equal(np.isinf(one), np.isinf(other))
