"""Values that depend on arguments' shapes only are computed once, with the graph's results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import sizes
from pinnace.framework import config


def _settled(function: Any, x: Any) -> set[str]:
    """The ops whose results are not computed again."""
    concrete = function.get_concrete_function()
    plan = concrete.plan
    layout = plan.tiers.layout_for([x, *concrete._captured_arrays], anyway=True)
    return {value.node.op.name for value in layout.settled}


def _masked(x: Any) -> Any:
    n = tf.shape(x)[0]
    mask = tf.linalg.band_part(tf.ones((n, n)), -1, 0)
    return tf.matmul(x, x, transpose_b=True) * mask, tf.range(n)


_ANY_ROWS = [tf.TensorSpec([None, 4], tf.float32)]


@pytest.mark.parametrize("tier", ["plan", "auto", "compiled"])
def test_a_mask_of_sizes_is_made_once_for_them(tier: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", tier)
    function = tf.function(_masked, input_signature=_ANY_ROWS)
    random = np.random.default_rng(0)
    for rows in (3, 5, 3):
        x = random.standard_normal((rows, 4)).astype(np.float32)
        for _ in range(4):
            product, numbers = function(tf.constant(x))
        wanted = np.tril(x.astype(np.float64) @ x.T)
        np.testing.assert_allclose(product.numpy(), wanted, rtol=0, atol=1e-5)
        assert numbers.numpy().tolist() == list(range(rows))
    assert "MatrixBandPart" in _settled(function, x)


def test_what_is_drawn_or_read_is_no_constant() -> None:
    variable = tf.Variable(1.0)

    @tf.function(input_signature=_ANY_ROWS)
    def function(x: Any) -> Any:
        n = tf.shape(x)[0]
        return x[0, 0] * (tf.random.uniform([n]) + tf.fill([n], variable)) * 2.0

    x = np.ones((3, 4), np.float32)
    assert not {"RandomUniform", "Fill", "AddV2"} & _settled(function, x)
    first, second = (function(tf.constant(x)).numpy() for _ in range(2))
    assert not np.array_equal(first, second)


def test_what_takes_much_memory_is_not_made_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "_MOST_BYTES", 1000)

    @tf.function(input_signature=_ANY_ROWS)
    def function(x: Any) -> Any:
        n = tf.shape(x)[0]
        return x * tf.reduce_sum(tf.fill([n, 100, 100], 2.0)) + tf.reduce_sum(tf.fill([n, 7], 3.0))

    x = np.ones((3, 4), np.float32)
    assert "Fill" in _settled(function, x)
    concrete = function.get_concrete_function()
    layout = concrete.plan.tiers.layout_for([x], anyway=True)
    assert all(array.nbytes <= 1000 for array in layout.settled.values())
    np.testing.assert_allclose(function(tf.constant(x)).numpy(), 60063.0, rtol=1e-6)
