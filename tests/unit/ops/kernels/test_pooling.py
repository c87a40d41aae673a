"""Pooling against loops over windows; gradients against the adjoint and finite differences."""

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.ops.kernels.pooling import (
    avg_pool,
    avg_pool_gradient,
    max_pool,
    max_pool_gradient,
    max_pool_with_argmax,
)
from pinnace.ops.kernels.precision import Array
from pinnace.ops.kernels.windows import place_windows


class Drawn(NamedTuple):
    x: Array
    how: tuple[Any, Any, Any]  # ksize, strides, pads


@st.composite
def pools(draw: st.DrawFn, distinct: bool = False) -> Drawn:
    rank = draw(st.integers(1, 3))
    axes = st.lists(st.integers(1, 3), min_size=rank, max_size=rank)
    ksize = draw(axes)
    strides = draw(st.one_of(axes, st.just(ksize)))
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    sizes = [draw(st.integers(1 if padding == "SAME" else k, k + 4)) for k in ksize]
    shape = (draw(st.integers(0, 3)), *sizes, draw(st.integers(1, 3)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = rng.permutation(int(np.prod(shape))) if distinct else rng.integers(0, 3, shape)
    pads = place_windows(sizes, ksize, strides, [1] * rank, padding).pads
    return Drawn(x.reshape(shape).astype(np.float64), (tuple(ksize), tuple(strides), pads))


def windows_of(case: Drawn) -> list[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Position of each window, and the part of x that it sees."""
    ksize, strides, pads = case.how
    sizes = case.x.shape[1:-1]
    counts = [
        (n + sum(p) - k) // s + 1 for n, k, s, p in zip(sizes, ksize, strides, pads, strict=True)
    ]
    return [
        (
            position,
            tuple(
                slice(max(o * s - p[0], 0), min(o * s - p[0] + k, n))
                for o, k, s, p, n in zip(position, ksize, strides, pads, sizes, strict=True)
            ),
        )
        for position in np.ndindex(*counts)
    ]


@given(case=pools())
def test_forward_is_the_maximum_and_the_mean_of_what_each_window_sees(case: Drawn) -> None:
    axes = tuple(range(1, case.x.ndim - 1))
    largest, mean = max_pool(case.x, *case.how), avg_pool(case.x, *case.how)
    for position, part in windows_of(case):
        seen = case.x[(slice(None), *part)]
        at = (slice(None), *position)
        np.testing.assert_array_equal(largest[at], seen.max(axis=axes))
        np.testing.assert_allclose(mean[at], seen.mean(axis=axes), rtol=1e-12, atol=1e-12)


@given(case=pools())
def test_gradient_goes_to_the_first_maximum_in_row_major_order(case: Drawn) -> None:
    y = max_pool(case.x, *case.how)
    dy = np.random.default_rng(y.size).integers(-4, 5, y.shape).astype(np.float64)
    first, every = np.zeros_like(case.x), np.zeros_like(case.x)
    for position, part in windows_of(case):
        for n in range(len(case.x)):
            for c in range(case.x.shape[-1]):
                seen = case.x[(n, *part, c)]
                winner = np.unravel_index(np.argmax(seen), seen.shape)
                first[(n, *part, c)][winner] += dy[(n, *position, c)]
                every[(n, *part, c)][seen == seen.max()] += dy[(n, *position, c)]
    np.testing.assert_array_equal(max_pool_gradient(case.x, y, dy, *case.how), first)
    result = max_pool_gradient(case.x, y, dy, *case.how, ties="every")
    np.testing.assert_array_equal(result, every)


@given(case=pools(distinct=True))
def test_argmax_names_the_place_of_the_maximum(case: Drawn) -> None:
    y, argmax = max_pool_with_argmax(case.x, *case.how, include_batch_in_index=True)
    np.testing.assert_array_equal(y, max_pool(case.x, *case.how))
    np.testing.assert_array_equal(case.x.reshape(-1)[argmax], y)
    _, within = max_pool_with_argmax(case.x, *case.how)
    for n in range(len(case.x)):
        np.testing.assert_array_equal(case.x[n].reshape(-1)[within[n]], y[n])


@given(case=pools())
def test_gradient_of_the_mean_is_its_adjoint(case: Drawn) -> None:
    y = avg_pool(case.x, *case.how)
    dy = np.random.default_rng(y.size).standard_normal(y.shape)
    dx = avg_pool_gradient(case.x.shape, dy, *case.how)
    np.testing.assert_allclose(np.sum(dy * y), np.sum(dx * case.x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.int32, np.uint8, np.int64]
)
def test_every_dtype_comes_back_as_itself(dtype: Any) -> None:
    x = np.arange(32).reshape(1, 4, 4, 2).astype(dtype)
    how: Any = ((2, 2), (2, 2), ((0, 0), (0, 0)))
    y = max_pool(x, *how)
    assert y.dtype == dtype
    assert y.astype(int).ravel().tolist() == [10, 11, 14, 15, 26, 27, 30, 31]
    dx = max_pool_gradient(x, y, np.ones_like(y), *how)
    assert dx.dtype == dtype
    assert np.flatnonzero(dx).tolist() == [10, 11, 14, 15, 26, 27, 30, 31]


def test_nan_never_wins_and_a_window_without_numbers_gives_the_lowest_one() -> None:
    # TensorFlow's CPU kernel; the whole table is in tests/golden/nn.
    x = np.array([1, np.nan, np.nan, np.nan, -np.inf, -np.inf], np.float32).reshape(1, 6, 1)
    y = max_pool(x, (2,), (2,), ((0, 0),))
    low = np.finfo(np.float32).min
    np.testing.assert_array_equal(y.ravel(), np.array([1, low, low], np.float32))


def test_an_infinite_gradient_stays_where_it_belongs() -> None:
    x = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
    how: Any = ((2, 2), (2, 2), ((0, 0), (0, 0)))
    dx = max_pool_gradient(x, max_pool(x, *how), np.full((1, 1, 1, 1), np.inf, np.float32), *how)
    assert dx.ravel().tolist() == [0, 0, 0, np.inf]
