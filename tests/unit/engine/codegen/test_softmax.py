"""The softmax of a row against float64: any width, extreme values, where it may lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

from support import numba_kernels

pytest.importorskip("numba")

_TEXT = """
from pinnace.engine.codegen.softmax import softmax


@njit([void(WRITTEN, int64, int64, int64)], cache=True, error_model="numpy")
def kernel(x, source, target, width):
    softmax(x[source:].ctypes.data, x[target:].ctypes.data, width)
"""


def softened(x: Any, offset: int = 0) -> Any:
    """The result at an offset from the row, with a check that nothing beside it was written."""
    room = np.full(x.size + offset + 2, 7, np.float32)
    room[1 : x.size + 1] = x
    numba_kernels.compiled(_TEXT)(room, 1, 1 + offset, x.size)
    np.testing.assert_array_equal(room[[0, *range(1 + offset + x.size, room.size)]], 7)
    return room[1 + offset : 1 + offset + x.size]


@pytest.mark.parametrize("offset", [0, 300])
@pytest.mark.parametrize("scale", [0.1, 3, 80])
def test_every_width(scale: float, offset: int) -> None:
    random = np.random.default_rng(0)
    for width in [*range(1, 67), 255]:
        x = (random.standard_normal(width) * scale).astype(np.float32)
        wanted = special.softmax(x.astype(np.float64))
        found = softened(x, offset)
        # The difference from the largest is rounded to float32.
        bound = 2**-22 + 2**-23 * np.abs(x).max()
        np.testing.assert_allclose(found, wanted, rtol=bound, atol=2e-38)
        assert abs(found.sum(dtype=np.float64) - 1) < 1e-6


@pytest.mark.parametrize("width", [1, 5, 8, 16, 21])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_one_bad_number_makes_all_nan(bad: float, width: int) -> None:
    for place in range(width):
        x = np.arange(width, dtype=np.float32)
        x[place] = bad
        assert np.isnan(softened(x)).all()


@pytest.mark.parametrize("width", [1, 5, 8, 16, 21])
def test_masked_numbers_are_zeros_unless_all_are(width: int) -> None:
    assert np.isnan(softened(np.full(width, -np.inf, np.float32))).all()
    for place in range(width):
        x = np.full(width, -np.inf, np.float32)
        x[place] = -3e38
        np.testing.assert_array_equal(softened(x), np.arange(width) == place)
        x[x < -3.1e38] = -3.4e38
        x[place] = 3.4e38  # their difference overflows
        np.testing.assert_array_equal(softened(x), np.arange(width) == place)
