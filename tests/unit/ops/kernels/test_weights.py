"""Weights packed into panels for kernels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.ops.kernels import weights, winograd


@given(st.integers(1, 40), st.integers(1, 200), st.booleans())
def test_panels_side_by_side_are_the_matrix(inner: int, columns: int, is_turned: bool) -> None:
    rng = np.random.default_rng(inner * 1000 + columns)
    shape = (columns, inner) if is_turned else (inner, columns)
    matrix = rng.standard_normal(shape).astype(np.float32)
    matrix = matrix.T if is_turned else matrix
    _check(weights.packed(matrix), matrix)


@pytest.mark.parametrize("shape", [(3, 1 << 18), (9000, 96), (9000, 100), (70_000, 8)])
def test_panels_that_several_threads_write(shape: tuple[int, int]) -> None:
    matrix = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
    _check(weights.packed(matrix), matrix)


def _check(found: np.ndarray, matrix: np.ndarray) -> None:
    inner, columns = matrix.shape
    assert found.ctypes.data % 64 == 0
    assert found.flags.c_contiguous
    sides = found.swapaxes(0, 1).reshape(inner, -1)
    np.testing.assert_array_equal(sides[:, :columns], matrix)
    assert not sides[:, columns:].any()


@pytest.mark.parametrize("outputs", [32, 250, 256])
def test_filters_for_tiles_do_not_depend_on_their_neighbours(outputs: int) -> None:
    """Several threads write those of 256 channels; one writes those of fewer."""
    filters = np.random.default_rng(1).standard_normal((3, 3, 256, outputs)).astype(np.float32)
    found = winograd.steady_filters(filters)
    for panel in range(len(found)):
        own = winograd.steady_filters(filters[..., panel * 32 : panel * 32 + 32])
        np.testing.assert_array_equal(found[panel], own[0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_no_factor_is_small_enough_beside_numbers_without_bounds(bad: float) -> None:
    assert winograd.limit_of(1, np.array([1, bad, -2], np.float32)) == -1


def test_the_limit_of_a_factor_follows_from_the_largest_of_either_sign() -> None:
    numbers = np.array([1, -2e3, 5], np.float32)
    assert winograd.limit_of(4, numbers) == winograd.limit_of(4, -numbers)
    assert winograd.limit_of(4, numbers) < winograd.limit_of(4, numbers / 10)
