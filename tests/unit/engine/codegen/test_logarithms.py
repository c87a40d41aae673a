"""Vectorised logarithms against float64: accuracy, extreme values, any length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support import numba_kernels

pytest.importorskip("numba")

_TEXT = """
from pinnace.engine.codegen.logarithms import logarithm


@njit([void(WRITTEN, WRITTEN, int64)], cache=True, error_model="numpy")
def kernel(x, y, adds):
    logarithm(y.ctypes.data, x.ctypes.data, x.size, adds)
"""
FUNCTIONS: dict[int, Any] = {0: np.log, 1: np.log1p}
kinds = pytest.mark.parametrize("adds", FUNCTIONS)


def logarithms(x: Any, adds: int) -> Any:
    x = np.asarray(x, np.float32)
    y = np.full_like(x, 7)
    numba_kernels.compiled(_TEXT)(x, y, adds)
    return y


def ulps(found: Any, wanted: Any) -> Any:
    return np.abs(found - wanted) / np.spacing(np.abs(wanted).astype(np.float32)).astype(float)


@kinds
@pytest.mark.parametrize("end", [1e-6, 1e-3, 0.29, 0.7, 5, 1e6, 3e38])
def test_it_is_exact_to_three_units(adds: int, end: float) -> None:
    near = np.linspace(-min(end, 0.999), end, 200_001)
    x = np.concatenate([near, np.geomspace(1e-37, end, 100_001)]).astype(np.float32)
    x = x[x != 0]
    x = x if adds else np.concatenate([x[x > 0], (1 + near[near > -0.99]).astype(np.float32)])
    assert ulps(logarithms(x, adds), FUNCTIONS[adds](x.astype(np.float64))).max() <= 3


@kinds
def test_extremes(adds: int) -> None:
    one = np.float32(adds)
    x = np.array([np.inf, np.nan, -np.inf, -2, -1.5], np.float32)
    np.testing.assert_array_equal(logarithms(x, adds), [np.inf, *[np.nan] * 4])
    np.testing.assert_array_equal(logarithms([-one, 1 - one], adds), [-np.inf, 0])
    zeros = logarithms([0.0, -0.0], adds)
    np.testing.assert_array_equal(zeros, [0, 0] if adds else [-np.inf] * 2)
    assert not adds or list(np.signbit(zeros)) == [False, True]


def test_subnormal_numbers() -> None:
    x = np.array([1e-38, 1e-40, 1e-44, 1.4e-45], np.float32)
    np.testing.assert_allclose(logarithms(x, 0), np.log(x.astype(np.float64)), rtol=3e-7)
    np.testing.assert_array_equal(logarithms(-x, 1), -x)


@kinds
def test_any_length(adds: int) -> None:
    for count in range(1, 40):
        x = np.linspace(0.1, 9, count).astype(np.float32)
        np.testing.assert_allclose(
            logarithms(x, adds), FUNCTIONS[adds](x.astype(np.float64)), rtol=3e-7
        )
