"""Vectorised activations against float64: accuracy, extreme values, any length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from pinnace.engine.networks.fields import GELU, GELU_BY_TANH, SIGMOID, SILU, TANH
from support import numba_kernels

pytest.importorskip("numba")

_TEXT = """
from pinnace.engine.codegen.activations import activate


@njit([void(WRITTEN, WRITTEN, int64)], cache=True, error_model="numpy")
def kernel(x, y, mode):
    activate(y.ctypes.data, x.ctypes.data, x.size, mode)
"""
CURVES: dict[int, Any] = {
    SILU: lambda x: x * special.expit(x),
    SIGMOID: special.expit,
    TANH: np.tanh,
}


def root_of_half(x: Any) -> Any:
    """The argument of the error function: it is rounded to float32, in TensorFlow too."""
    return (x.astype(np.float32) * np.float32(np.sqrt(0.5))).astype(np.float64)


def gelu_by_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


GELUS: dict[int, Any] = {
    GELU: lambda x: 0.5 * x * special.erfc(-root_of_half(x)),
    GELU_BY_TANH: gelu_by_tanh,
}
ALL = CURVES | GELUS
modes = pytest.mark.parametrize("mode", CURVES)


def curve(x: Any, mode: int) -> Any:
    y = np.full_like(x, 7)
    numba_kernels.compiled(_TEXT)(x, y, mode)
    return y


@modes
@pytest.mark.parametrize("end", [1e-3, 1, 10, 87.3])
def test_it_is_exact_to_four_units(mode: int, end: float) -> None:
    x = np.linspace(-end, end, 200_001).astype(np.float32)
    wanted = CURVES[mode](x.astype(np.float64))
    unit = np.maximum(np.spacing(np.abs(wanted).astype(np.float32)), np.finfo(np.float32).tiny)
    assert np.max(np.abs(curve(x, mode) - wanted) / unit) <= 4


@pytest.mark.parametrize("end", [1e-3, 1, 5, 12])
def test_gelu_is_exact_to_eight_units(end: float) -> None:
    x = np.linspace(-end, end, 200_001).astype(np.float32)
    wanted = GELUS[GELU](x.astype(np.float64))
    unit = np.maximum(np.spacing(np.abs(wanted).astype(np.float32)), np.finfo(np.float32).tiny)
    found = curve(x, GELU)
    assert np.max(np.abs(found - wanted) / unit) <= 8
    exact = x.astype(np.float64) * special.ndtr(x.astype(np.float64))
    np.testing.assert_allclose(found[x > -5], exact[x > -5], rtol=4e-6)


@pytest.mark.parametrize("end", [1e-3, 1, 5, 12])
def test_gelu_by_tanh_is_exact_to_units_of_its_argument(end: float) -> None:
    """Its sum 1 + tanh is rounded: the unit is that of the argument, not of the small result."""
    x = np.linspace(-end, end, 200_001).astype(np.float32)
    wanted = gelu_by_tanh(x.astype(np.float64))
    assert np.max(np.abs(curve(x, GELU_BY_TANH) - wanted) / np.spacing(np.abs(x))) <= 4


@pytest.mark.parametrize("mode", ALL)
def test_its_ends_are_those_of_the_function(mode: int) -> None:
    tiny = [1e-45, -1e-45, 1e-40, -1e-40]
    x = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 200, -200, -89, -1e30, 3e38, *tiny], np.float32)
    with np.errstate(invalid="ignore"):
        wanted = ALL[mode](x.astype(np.float64)).astype(np.float32)
    found = curve(x, mode)
    # Below the smallest normal number sigmoids are 0, and so are products with them.
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=2e-36)
    if mode != SIGMOID:  # infinity times a sigmoid of 0 is NaN, as in the plan
        np.testing.assert_array_equal(np.signbit(found[1:2]), np.signbit(x[1:2]))
        np.testing.assert_array_equal(np.signbit(found[3:]), np.signbit(x[3:]))


@given(
    numbers=st.lists(st.floats(width=32), min_size=1, max_size=70),
    mode=st.sampled_from(sorted(ALL)),
)
def test_each_number_is_by_itself(numbers: list[float], mode: int) -> None:
    x = np.array(numbers, np.float32)
    alone = [curve(x[i : i + 1].copy(), mode)[0] for i in range(len(x))]
    np.testing.assert_array_equal(curve(x, mode), alone)
