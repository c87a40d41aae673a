"""Sums with zeros, products with ones and first powers are removed, and nothing else."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import pinnace as tf

ZEROS, ONES = np.zeros((3, 4), "f4"), np.ones((1, 4), "f4")
SPEC = tf.TensorSpec([2, 3, 4], tf.float32)

NEUTRAL = {
    "sum": lambda x: x + ZEROS,
    "sum, turned round": lambda x: ZEROS + x,
    "difference": lambda x: x - 0.0,
    "product": lambda x: x * ONES,
    "product, turned round": lambda x: ONES * x,
    "quotient": lambda x: x / ONES,
    "power": lambda x: x**1.0,
}
OTHERS = {
    "one of many": lambda x: x + np.eye(3, 4, dtype="f4"),
    "turned round": lambda x: 0.0 - x,
    "quotient turned round": lambda x: 1.0 / x,
    "power turned round": lambda x: 1.0**x,
    "with more axes": lambda x: x * np.ones((1, 2, 3, 4), "f4"),
    "broadcast": lambda x: x[:1] + np.zeros((2, 3, 4), "f4"),
    "integers": lambda x: tf.cast(x, tf.int32) + 0,
}


def kinds(run: Any) -> Counter[str]:
    plan = tf.function(run).get_concrete_function(SPEC).plan
    return Counter(step.node.op.name for step in plan.steps)


@pytest.mark.parametrize("kind", NEUTRAL)
def test_what_changes_nothing_is_left_out(kind: str) -> None:
    run = NEUTRAL[kind]
    assert not kinds(run)
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("f4")
    x[0, 0, :3] = np.nan, np.inf, -np.inf
    given = tf.constant(x)
    function = tf.function(run)
    for _ in range(3):
        np.testing.assert_array_equal(function(given), x)


@pytest.mark.parametrize("kind", OTHERS)
def test_what_changes_something_stays(kind: str) -> None:
    run = OTHERS[kind]
    assert {"AddV2", "Sub", "Mul", "RealDiv", "Pow"} & set(kinds(run))
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("f4")
    np.testing.assert_allclose(tf.function(run)(tf.constant(x)), run(tf.constant(x)), rtol=1e-6)


def test_what_is_given_back_is_nobody_elses() -> None:
    variable = tf.Variable([1.0, 2.0])
    function = tf.function(lambda: variable + 0.0)
    before = function()
    variable.assign_add([5.0, 5.0])
    np.testing.assert_array_equal(before, [1.0, 2.0])
    np.testing.assert_array_equal(function(), [6.0, 7.0])
