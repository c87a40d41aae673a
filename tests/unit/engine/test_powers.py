"""Powers with a constant exponent: products and roots, with the results of a power."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.passes.fold import fold
from pinnace.engine.passes.inline import inline
from pinnace.engine.passes.powers import multiplied
from pinnace.framework.specs import TensorSpec
from pinnace.graph.walk import ordered

# Zeros, infinities, NaN, and numbers whose powers overflow or underflow.
STRANGE = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-30, -1e-30, 1e12, 2e19, 1e-15]
OPS = {
    -2.0: ["Reciprocal", "Square"],
    -1.0: ["Reciprocal"],
    -0.5: ["Rsqrt"],
    0.5: ["Sqrt"],
    2.0: ["Square"],
    3.0: ["Square", "Mul"],
    4.0: ["Square", "Square"],
}
# TensorFlow's results where they are not the limit of a power: those of the root.
ROOTS = {
    (0.5, -np.inf): np.nan,
    (0.5, -0.0): -0.0,
    (-0.5, -np.inf): np.nan,
    (-0.5, -0.0): -np.inf,
}


def function_of(exponent: Any, spec: TensorSpec) -> Any:
    return tf.function(lambda x: tf.pow(x, exponent)).get_concrete_function(spec)


def kinds(function: Any) -> Counter[str]:
    """The remaining ops, without arguments and constants."""
    graph = multiplied(fold(inline(function.graph)))
    names = Counter(node.op.name for node in ordered(graph))
    return Counter({name: n for name, n in names.items() if name not in {"Placeholder", "Const"}})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", OPS)
def test_a_small_exponent_is_products_and_roots(exponent: float, dtype: Any) -> None:
    function = function_of(exponent, TensorSpec([None], dtype))
    left = kinds(function)
    assert "Pow" not in left
    assert {name: left[name] for name in OPS[exponent]} == Counter(OPS[exponent])
    drawn = np.random.default_rng(0).uniform(-9, 9, 200)
    x = np.array([*STRANGE, *drawn], dtype)
    if exponent % 1:
        x = np.where(np.isin(x, STRANGE), x, np.abs(x))
    found = function(tf.constant(x)).numpy()
    assert found.dtype == dtype
    with np.errstate(all="ignore"):
        # Not a scalar exponent, for which NumPy has special cases.
        wanted = np.power(x.astype(np.longdouble), np.full(x.shape, exponent, np.longdouble))
        wanted = wanted.astype(dtype)
    for place, number in enumerate(x):
        for (power, base), root in ROOTS.items():
            is_it = number == base and np.signbit(number) == np.signbit(base)
            if power == exponent and is_it:
                wanted[place] = root
    tiny = np.finfo(dtype).tiny
    np.testing.assert_allclose(found, wanted, rtol=3 * np.finfo(dtype).eps, atol=tiny)
    np.testing.assert_array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("exponent", [5.0, 1.5, -3.0, 0.0, np.array([2, 3], np.float32)])
def test_others_stay_powers(exponent: Any) -> None:
    assert kinds(function_of(exponent, TensorSpec([2], np.float32)))["Pow"] == 1


def test_whole_numbers_stay_powers() -> None:
    assert kinds(function_of(3, TensorSpec([2], np.int32)))["Pow"] == 1


def test_an_exponent_with_more_axes_than_the_base_gives_the_result_its_own() -> None:
    function = function_of(np.full([1, 1], 3, np.float32), TensorSpec([4], np.float32))
    assert kinds(function)["Pow"] == 1
    assert function(tf.constant(np.arange(4, dtype="f4"))).shape == [1, 4]
    same = function_of(np.full([1], 3, np.float32), TensorSpec([2, 2], np.float32))
    assert kinds(same)["Pow"] == 0
    found = same(tf.constant([[1.0, 2.0], [3.0, -4.0]])).numpy()
    np.testing.assert_array_equal(found, [[1, 8], [27, -64]])


def test_a_power_in_a_loop_and_its_gradient_are_the_same_numbers() -> None:
    @tf.function
    def cubed(x: Any) -> Any:
        total = x
        for _ in tf.range(3):
            total = total * 0.5 + x**3
        return total

    x = tf.constant(np.linspace(-2, 2, 9, dtype="f4"))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = cubed(x)
    exact = np.linspace(-2, 2, 9)
    np.testing.assert_allclose(y.numpy(), exact / 8 + exact**3 * 1.75, rtol=1e-5, atol=1e-6)
    slope = tape.gradient(y, x).numpy()
    np.testing.assert_allclose(slope, 1 / 8 + exact**2 * 5.25, rtol=1e-5, atol=1e-6)
