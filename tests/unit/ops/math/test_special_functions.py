"""Bessel functions and integrals: second derivatives, ends of the ranges, names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.special

import pinnace as tf

if TYPE_CHECKING:
    from collections.abc import Callable

X = np.array([0.3, 1.0, 1.9, 2.1, 4.5, 7.9, 8.1, 14.0])

# Its asymptotic series, with eˣ as two factors, since eˣ itself is infinite.
EI_712 = np.exp(356.0) * (np.exp(356.0) / 712 * sum(math.factorial(k) / 712.0**k for k in range(8)))

# Another formula for each second derivative, from SciPy's values and derivatives of any order.
SECOND: dict[str, Callable[[Any], Any]] = {
    "bessel_j0": lambda x: scipy.special.jvp(0, x, 2),
    "bessel_j1": lambda x: scipy.special.jvp(1, x, 2),
    "bessel_y0": lambda x: scipy.special.yvp(0, x, 2),
    "bessel_y1": lambda x: scipy.special.yvp(1, x, 2),
    "bessel_k0": lambda x: scipy.special.kvp(0, x, 2),
    "bessel_k1": lambda x: scipy.special.kvp(1, x, 2),
    "bessel_k0e": lambda x: (
        np.exp(x)
        * (scipy.special.kv(0, x) + 2 * scipy.special.kvp(0, x, 1) + scipy.special.kvp(0, x, 2))
    ),
    "bessel_k1e": lambda x: (
        np.exp(x)
        * (scipy.special.kv(1, x) + 2 * scipy.special.kvp(1, x, 1) + scipy.special.kvp(1, x, 2))
    ),
    "dawsn": lambda x: (4 * x * x - 2) * scipy.special.dawsn(x) - 2 * x,
    "expint": lambda x: np.exp(x) * (1 / x - 1 / x**2),
    "fresnel_cos": lambda x: -np.pi * x * np.sin(np.pi * x * x / 2),
    "fresnel_sin": lambda x: np.pi * x * np.cos(np.pi * x * x / 2),
    "spence": lambda x: np.where(
        x == 1, 0.5, (1 / x * (1 - x) + np.log(x)) / np.where(x == 1, 1, 1 - x) ** 2
    ),
}


@pytest.mark.parametrize("name", sorted(SECOND))
def test_second_derivatives(name: str) -> None:
    # At 1 the derivative of spence is a special case, as in TensorFlow: there is no second
    # derivative.
    points = X[X != 1] if name == "spence" else X
    x = tf.constant(points)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = getattr(tf.math.special, name)(x)
        slope = inner.gradient(y, x)
    # Differences of values of the size of the largest: a few of its ulps.
    np.testing.assert_allclose(
        outer.gradient(slope, x), SECOND[name](points), rtol=1e-11, atol=1e-12
    )


@pytest.mark.parametrize(
    ("name", "points", "values"),
    [
        ("bessel_j0", [0.0, -2.0], [1.0, scipy.special.j0(2.0)]),
        ("bessel_j1", [0.0, -2.0], [0.0, -scipy.special.j1(2.0)]),
        ("bessel_y0", [0.0, -1.0], [-np.inf, -np.inf]),
        ("bessel_k1e", [0.0, -1.0, np.inf], [np.inf, np.inf, 0.0]),
        ("dawsn", [0.0, np.inf, 1e200], [0.0, 0.0, 5e-201]),
        ("expint", [0.0, -1.0, 712.0], [-np.inf, np.nan, EI_712]),
        ("fresnel_sin", [np.inf, -np.inf, 0.0], [0.5, -0.5, 0.0]),
        ("fresnel_cos", [1e9, -1e300], [0.5, -0.5]),
        ("spence", [0.0, 1.0, -1.0, 1e300], [np.pi**2 / 6, 0.0, np.nan, -238587.06]),
    ],
)
def test_ends_of_the_ranges(name: str, points: list[float], values: list[float]) -> None:
    found = getattr(tf.math.special, name)(np.array(points))
    np.testing.assert_allclose(found, values, rtol=1e-7, atol=1e-9)


def test_the_slope_of_j1_at_zero_is_a_half() -> None:
    x = tf.constant(0.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.special.bessel_j1(x)
    assert float(tape.gradient(y, x)) == 0.5


def test_tf_math_special_has_tensorflows_names() -> None:
    names = "bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e "
    names += "bessel_k1 bessel_k1e bessel_y0 bessel_y1 dawsn expint fresnel_cos fresnel_sin spence"
    assert set(names.split()) <= set(dir(tf.math.special))
    assert tf.math.special.bessel_i0 is tf.math.bessel_i0
    with pytest.raises(AttributeError, match=r"no attribute 'bessel_j2'"):
        tf.math.special.bessel_j2  # noqa: B018 - that it raises is the test
