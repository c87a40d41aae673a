"""Powers with a constant exponent of 2 or 3: products, with the numbers of powers."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.build import plan_of

VALUES = [0.0, -0.0, 1.0, -1.5, 3e-10, -2e13, 1e30, -1e30, np.inf, -np.inf, np.nan]


def kinds(function: Any) -> Counter[str]:
    plan = plan_of(function.get_concrete_function(tf.constant(VALUES)).graph)
    return Counter(step.node.op.name for step in plan.steps)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("power", [2, 3])
def test_small_powers_are_products(power: int, dtype: str) -> None:
    x = np.concatenate([np.array(VALUES), np.random.default_rng(0).normal(size=500)]).astype(dtype)
    function = tf.function(lambda x: tf.pow(x, power))
    found = function(tf.constant(x)).numpy()
    with np.errstate(all="ignore"):
        wanted = (x.astype(np.longdouble) ** power).astype(dtype)
        # Two products are rounded, each by half a unit of the last place.
        np.testing.assert_array_max_ulp(found, wanted, 2)
    np.testing.assert_array_equal(np.signbit(found[:-500]), np.signbit(wanted[:-500]))
    concrete = function.get_concrete_function(tf.constant(x))
    ops = [step.node.op.name for step in plan_of(concrete.graph).steps]
    assert ops == ["Square", "Mul"][: power - 1]


def test_other_powers_stay() -> None:
    assert kinds(tf.function(lambda x: tf.pow(x, 4.0))) == {"Pow": 1}
    assert kinds(tf.function(lambda x: tf.pow(x, 2.5))) == {"Pow": 1}
    assert kinds(tf.function(lambda x: tf.pow(2.0, x))) == {"Pow": 1}
    assert kinds(tf.function(lambda x: tf.pow(x, [2.0]))) == {"Square": 1}


def test_an_exponent_with_more_axes_gives_the_result_its_own() -> None:
    function = tf.function(lambda x: tf.pow(x, [[3.0]]))
    assert kinds(function) == {"Pow": 1}
    assert function(tf.constant(VALUES)).shape == (1, len(VALUES))


def test_integers_and_short_floats_stay() -> None:
    for dtype in (tf.int32, tf.float16, tf.bfloat16):
        function = tf.function(lambda x: tf.pow(x, 3))
        x = tf.cast([1, -2, 3], dtype)
        concrete = function.get_concrete_function(x)
        assert "Pow" in [step.node.op.name for step in plan_of(concrete.graph).steps]
        np.testing.assert_array_equal(function(x).numpy().astype("i4"), [1, -8, 27])


def test_gradients_are_those_of_powers() -> None:
    x = tf.constant(np.random.default_rng(1).normal(size=40).astype("f4"))

    @tf.function
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.pow(x, 3.0)
        return tape.gradient(y, x)

    np.testing.assert_allclose(slope(x), 3 * x.numpy() ** 2, rtol=1e-6)
