"""Sums over rows, against sums in float64."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.ops.kernels.row_sums import sum_rows


@given(
    st.integers(0, 20_000),
    st.sampled_from([1, 2, 7, 8, 24, 33]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 2**32 - 1),
)
def test_rows_are_summed(rows: int, numbers: int, dtype: type, seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal((rows, numbers)).astype(dtype)
    found = sum_rows(x)
    assert found.dtype == dtype
    # Each of up to `rows` additions rounds a total of about sqrt(rows).
    size = np.sqrt(rows + 1) * (rows + 1) * np.finfo(dtype).eps
    np.testing.assert_allclose(found, x.astype(np.float64).sum(0), rtol=0, atol=size)


@pytest.mark.parametrize("numbers", [8, 600])
@pytest.mark.parametrize("rows", [100, 9000])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_has_no_bounds_stays_in_its_column(numbers: int, rows: int, bad: float) -> None:
    x = np.ones((rows, numbers), np.float32)
    x[rows // 2, 3] = bad
    found = sum_rows(x)
    np.testing.assert_equal(found[3], np.float32(bad))
    np.testing.assert_array_equal(np.delete(found, 3), np.float32(rows))


def test_a_sum_of_many_short_rows_loses_little() -> None:
    """In sequential order a total of 2^21 ones and a bit stops at 2^24 eighths."""
    x = np.full((1 << 21, 4), 1.125, np.float32)
    np.testing.assert_array_equal(sum_rows(x), np.float32(1.125 * (1 << 21)))


@pytest.mark.parametrize("axes", [0, [0, 1], [1, 0], [0, 1, 2]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_over_the_first_axes(axes: int | list[int], keepdims: bool) -> None:
    x = np.random.default_rng(1).integers(-9, 9, (90, 100, 2, 5)).astype(np.float32)
    found = tf.reduce_sum(x, axes, keepdims=keepdims)
    wanted = x.sum(tuple(np.atleast_1d(axes)), keepdims=keepdims)  # integers: exact
    np.testing.assert_array_equal(found, wanted)
