"""Segment reductions and scattering against loops in Python."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.kernels.precision import Array
from pinnace.ops.kernels.segments import (
    add_weighted_rows,
    scatter_into,
    scatter_nd,
    scattered,
    segment_reduce,
    unsorted_segment_reduce,
)

REDUCE: dict[str, Any] = {
    "sum": lambda rows: rows.sum(axis=0),
    "prod": lambda rows: rows.prod(axis=0),
    "max": lambda rows: rows.max(axis=0),
    "min": lambda rows: rows.min(axis=0),
    "mean": lambda rows: rows.mean(axis=0),
    "sqrt_n": lambda rows: rows.sum(axis=0) / np.sqrt(len(rows)),
}
inner_shapes = st.lists(st.integers(0, 3), max_size=2).map(tuple)
ids_lists = st.lists(st.integers(0, 6), max_size=12)
seeds = st.integers(0, 2**32 - 1)


def rows_of(n: int, inner: tuple[int, ...], seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, (n, *inner)).astype(np.float64)


@given(ids=ids_lists.map(sorted), inner=inner_shapes, seed=seeds, how=st.sampled_from([*REDUCE]))
def test_sorted_segments(ids: list[int], inner: tuple[int, ...], seed: int, how: Any) -> None:
    data, where = rows_of(len(ids), inner, seed), np.array(ids, np.int32)
    for given_count in (None, 9):
        out = segment_reduce(data, where, how, given_count)
        count = given_count or (ids[-1] + 1 if ids else 0)
        assert out.shape == (count, *inner)
        for segment in range(count):
            rows = data[where == segment]
            expected = REDUCE[how](rows) if len(rows) else float(how == "prod")
            np.testing.assert_allclose(out[segment], np.broadcast_to(expected, inner), rtol=1e-12)


@given(
    ids=st.lists(st.integers(-2, 6), max_size=12),
    inner=inner_shapes,
    seed=seeds,
    how=st.sampled_from(["sum", "prod", "max", "min"]),
)
def test_unsorted_segments(ids: list[int], inner: tuple[int, ...], seed: int, how: Any) -> None:
    data, where = rows_of(len(ids), inner, seed), np.array(ids, np.int64)
    high = np.finfo(np.float64).max
    empty = {"sum": 0, "prod": 1, "max": -high, "min": high}[how]
    out = unsorted_segment_reduce(data, where, 8, how)
    assert out.shape == (8, *inner)
    for segment in range(8):
        rows = data[where == segment]
        expected = REDUCE[how](rows) if len(rows) else empty
        np.testing.assert_array_equal(out[segment], np.broadcast_to(expected, inner))


def test_ids_of_any_rank_take_the_leading_axes() -> None:
    data = np.arange(12.0).reshape(2, 3, 2)
    out = unsorted_segment_reduce(data, np.array([[0, 1, 0], [1, -1, 1]]), 2, "sum")
    np.testing.assert_array_equal(out, [[4, 6], [2 + 6 + 10, 3 + 7 + 11]])


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [  # TensorFlow 2.21's results for empty segments
        (np.float16, -65504, 65504),
        (ml_dtypes.bfloat16, -3.3895314e38, 3.3895314e38),
        (np.float32, -3.4028235e38, 3.4028235e38),
        (np.int32, -(2**31), 2**31 - 1),
        (np.uint8, 0, 255),
    ],
)
def test_empty_segments_hold_the_ends_of_the_dtype(dtype: Any, low: float, high: float) -> None:
    data, ids = np.array([1], dtype), np.array([0])
    for how, end in (("max", low), ("min", high)):
        out = unsorted_segment_reduce(data, ids, 2, how)  # type: ignore[arg-type]
        assert out.dtype == dtype
        assert float(out[0]) == 1
        np.testing.assert_allclose(float(out[1]), end, rtol=1e-7)


def test_integer_means_round_towards_zero() -> None:
    out = segment_reduce(np.array([1, 2, -1, -2], np.int32), np.array([0, 0, 1, 1]), "mean")
    assert out.tolist() == [1, -1]
    assert out.dtype == np.int32


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, 0], "not increasing"),
        ([-1, 0], "must be >= 0"),
        ([0], "as long as the data has rows, got shape \\[1\\] and 2 rows"),
        ([0, 5], "below the number of segments, got 5 and 3"),
    ],
)
def test_bad_segment_ids_say_what_is_wrong(ids: list[int], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        segment_reduce(np.zeros(2), np.array(ids), "sum", 3)


def test_bad_unsorted_ids_say_where() -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"segment_ids\[1,0\] = 3 is out of range \[0, 3\)"
    ):
        unsorted_segment_reduce(np.zeros((2, 2)), np.array([[0, 1], [3, 0]]), 3, "sum")
    with pytest.raises(InvalidArgumentError, match="start with the shape of the segment ids"):
        unsorted_segment_reduce(np.zeros((2, 2)), np.array([0, 1, 2]), 3, "sum")


@given(data=st.data(), seed=seeds)
def test_scattering_works_in_one_update_after_the_other(data: st.DataObject, seed: int) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    depth = data.draw(st.integers(0, len(shape)))
    batch = tuple(data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=2)))
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 10, shape).astype(np.float64)
    indices = np.stack(
        [rng.integers(0, n, batch) for n in shape[:depth]] or [np.zeros((*batch, 0), np.int64)],
        axis=-1,
    ).reshape(*batch, depth)
    updates = rng.integers(-9, 10, (*batch, *shape[depth:])).astype(np.float64)
    steps: dict[Any, Any] = {
        "update": lambda _, new: new,
        "add": np.add,
        "sub": np.subtract,
        "max": np.maximum,
        "min": np.minimum,
    }
    for how, step in steps.items():
        expected = x.copy()
        for at in np.ndindex(*batch):
            place = tuple(indices[at].tolist())
            expected[place] = step(expected[place], updates[at])
        before = x.copy()
        np.testing.assert_array_equal(scattered(x, indices, updates, how), expected)
        np.testing.assert_array_equal(x, before)
    zeros = np.zeros(shape)
    scatter_into(zeros, indices, updates, "add")
    np.testing.assert_array_equal(scatter_nd(indices, updates, shape), zeros)


def test_repeated_float16_updates_are_summed_in_float32() -> None:
    out = scatter_nd(np.zeros((3000, 1), np.int64), np.ones(3000, np.float16), (1,))
    assert out.item() == 3000
    assert out.dtype == np.float16


def test_indices_outside_say_which() -> None:
    with pytest.raises(InvalidArgumentError, match=r"indices\[1\] = \[3\] does not index into"):
        scatter_nd(np.array([[0], [3]]), np.zeros(2), (3,))
    with pytest.raises(InvalidArgumentError, match=r"must have shape \[2, 4\]"):
        scattered(np.zeros((3, 4)), np.array([[0], [1]]), np.zeros((2, 3)), "add")
    with pytest.raises(InvalidArgumentError, match="not be longer than the rank"):
        scatter_nd(np.zeros((1, 2), np.int64), np.zeros(1), (3,))


def test_weighted_rows_are_added_one_after_the_other() -> None:
    random = np.random.default_rng(5)
    places, sources = random.integers(0, 6, 40), random.integers(0, 9, 40)
    weights = random.standard_normal(40).astype(np.float32)
    for rows in (random.standard_normal((9, 5)).astype(np.float32), np.ones((9, 1), np.float32)):
        out = np.ones((6, rows.shape[1]), np.float32)
        if not add_weighted_rows(out, places, sources, weights, rows):
            pytest.skip("no machine code")
        wanted = np.ones(out.shape)
        for place, source, weight in zip(places, sources, weights, strict=True):
            wanted[place] += np.float64(weight) * rows[source]
        np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-6)
    out64 = np.zeros((6, 5))
    assert not add_weighted_rows(out64, places, sources, weights, np.ones((9, 5)))
    assert not out64.any()


@pytest.mark.parametrize("how", ["max", "min", "prod", "sum"])
def test_nan_spreads_in_sorted_segments(how: Any) -> None:
    x = np.array([[1, np.nan], [np.nan, 2], [3, -np.inf], [4, np.inf]], np.float32)
    y = segment_reduce(x, np.array([0, 0, 2, 2]), how)
    assert np.isnan(y[0]).all()
    ends = {"max": (4, np.inf), "min": (3, -np.inf), "prod": (12, -np.inf), "sum": (7, np.nan)}
    np.testing.assert_array_equal(y[2], np.array(ends[how], np.float32))
    assert (y[1] == (1 if how == "prod" else 0)).all()
