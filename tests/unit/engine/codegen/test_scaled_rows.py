"""Rows times one row, vectorised: any number of rows, any width, in place or not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import numba_kernels

pytest.importorskip("numba")

_TEXT = """
from pinnace.engine.codegen.scaled_rows import scale_rows


@njit([void(WRITTEN, WRITTEN, WRITTEN)], cache=True, error_model="numpy")
def kernel(x, row, y):
    rows, width = x.size // row.size, row.size
    scale_rows(y.ctypes.data, x.ctypes.data, row.ctypes.data, rows, width)
"""


@given(
    rows=st.integers(0, 9),
    width=st.integers(1, 70),
    in_place=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_it_is_numpys_product(rows: int, width: int, in_place: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random.standard_normal((rows, width)).astype(np.float32)
    row = random.choice(np.array([np.nan, np.inf, 0, 1, -2.5, 1e-40], np.float32), width)
    with np.errstate(invalid="ignore"):
        wanted = (x * row).reshape(-1)
    given = np.concatenate([x.reshape(-1), np.full(1, 7, np.float32)])
    y = given if in_place else np.full_like(given, 7)
    numba_kernels.compiled(_TEXT)(given[:-1], row, y[:-1])
    np.testing.assert_array_equal(y[:-1], wanted)
    assert y[-1] == 7
