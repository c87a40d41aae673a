"""Sums, means and maxima over any adjacent axes are statements of small plans."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.small_plans import SmallPlan, table_of
from pinnace.framework import config

SHAPES = [(3, 5, 4), (1, 7, 3), (2, 1, 5), (4, 6, 1), (2, 3, 2, 5), (1, 1, 4), (6, 9), (5,)]
REDUCTIONS = {
    "sum": (tf.reduce_sum, np.sum),
    "mean": (tf.reduce_mean, np.mean),
    "max": (tf.reduce_max, np.max),
}


def neighbouring(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All sets of axes."""
    rank = len(shape)
    return [
        axes for count in range(1, rank + 1) for axes in itertools.combinations(range(rank), count)
    ]


def is_apart(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether another axis longer than 1 is between them."""
    over = [axis for axis in axes if shape[axis] > 1]
    if not over:
        return False
    return any(shape[axis] > 1 and axis not in axes for axis in range(over[0], over[-1]))


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("keep", [False, True])
def test_any_neighbouring_axes(name: str, shape: tuple[int, ...], keep: bool) -> None:
    ours, numpys = REDUCTIONS[name]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for axes in neighbouring(shape):

        def f(x: Any, axes: tuple[int, ...] = axes) -> Any:
            y = tf.tanh(x) * 2.0
            return tf.exp(ours(y, axis=axes, keepdims=keep)) + 1.0, y

        function = tf.function(f)
        plan = function.get_concrete_function(tf.constant(x)).plan
        if is_apart(shape, axes):
            with pytest.raises(UnsupportedError, match="not adjacent"):
                table_of(plan, [x])
            continue
        found, _ = table_of(plan, [x]).run([x], None)
        wide = np.tanh(x.astype(np.float64)) * 2.0
        wanted = np.exp(numpys(wide, axis=axes, keepdims=keep)) + 1.0
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=2e-5, err_msg=f"{axes}")


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0])
def test_special_numbers(special: float) -> None:
    x = np.random.default_rng(1).standard_normal((2, 6, 3)).astype(np.float32)
    x[1, 2, 1] = special

    def f(x: Any) -> Any:
        y = tf.identity(x) * 1.5
        return tf.reduce_max(y, 1), tf.reduce_mean(y, 1), tf.reduce_sum(y, 1), y

    function = tf.function(f)
    plan = function.get_concrete_function(tf.constant(x)).plan
    found = table_of(plan, [x]).run([x], None)
    y = x * np.float32(1.5)
    with np.errstate(all="ignore"):
        for one, wanted in zip(found, (y.max(1), y.mean(1), y.sum(1), y), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-6)


def test_a_pooled_recurrent_layer_is_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest output over time, as in classifiers of texts."""
    monkeypatch.setattr(config.settings, "tier", "auto")
    layers = tf.keras.layers
    tf.keras.utils.set_random_seed(5)
    model = tf.keras.Sequential(
        [
            tf.keras.Input([9, 4]),
            layers.GRU(6, return_sequences=True),
            layers.GlobalMaxPooling1D(),
            layers.Dense(3),
        ]
    )
    function = tf.function(lambda x: model(x, training=False))
    x = np.random.default_rng(2).standard_normal((2, 9, 4)).astype(np.float32)
    monkeypatch.setattr(config.settings, "tier", "plan")
    wanted = function(tf.constant(x)).numpy()
    monkeypatch.setattr(config.settings, "tier", "auto")
    for _ in range(5):
        np.testing.assert_allclose(function(tf.constant(x)).numpy(), wanted, rtol=1e-4, atol=1e-6)
    plan = function.get_concrete_function(tf.constant(x)).plan
    (prepared,) = plan.tiers._tiers["auto"].prepared.values()
    assert prepared is not None
    assert isinstance(prepared.small, SmallPlan)
