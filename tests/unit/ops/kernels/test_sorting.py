"""Sorting kernels against Python's own sorting, dictionaries and bisection."""

import bisect
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.kernels.sorting import searchsorted, top_k, unique, unique_along

DTYPES: list[Any] = [np.float32, np.float64, np.int32, np.int8, np.uint8, np.float16]
DTYPES += [ml_dtypes.bfloat16]


@given(
    rows=st.integers(0, 3),
    n=st.sampled_from([1, 5, 64, 200]),
    portion=st.floats(0, 1),
    dtype=st.sampled_from(DTYPES),
    nans=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_top_k_is_a_stable_descending_sort_with_nan_first(
    rows: int, n: int, portion: float, dtype: Any, nans: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-5 if dtype not in (np.uint8,) else 0, 6, (rows, n)).astype(dtype)
    if nans and np.dtype(dtype).kind in "fV":
        x[rng.random(x.shape) < 0.1] = np.nan
        x[rng.random(x.shape) < 0.1] = -0.0
        x[rng.random(x.shape) < 0.05] = np.inf
    k = round(portion * n)
    values, indices = top_k(x, k)
    assert values.dtype == dtype
    assert indices.dtype == np.int32
    for row in range(rows):
        plain = [float(v) for v in x[row]]
        # NaN above inf; Python's sort is stable.
        order = sorted(range(n), key=lambda i: (plain[i] == plain[i], -plain[i] or 0))
        order = [i for i in order if plain[i] != plain[i]] + sorted(
            (i for i in order if plain[i] == plain[i]), key=lambda i: -plain[i]
        )
        assert indices[row].tolist() == order[:k]
    np.testing.assert_array_equal(
        values.astype(np.float64), np.take_along_axis(x, indices, -1).astype(np.float64)
    )


def test_least_integers_and_large_unsigned_ones_are_ordered() -> None:
    for n in (3, 100):
        x = np.full(n, -(2**31), np.int32)
        x[1] = 2**31 - 1
        assert top_k(x, 2)[1].tolist() == [1, 0]
        y = np.full(n, 0, np.uint64)
        y[2] = 2**64 - 1
        assert top_k(y, 2)[1].tolist() == [2, 0]


def test_top_k_refuses_what_it_cannot_give() -> None:
    with pytest.raises(InvalidArgumentError, match="from 0 to the last axis' size 3, got 4"):
        top_k(np.zeros(3), 4)
    with pytest.raises(InvalidArgumentError, match="at least one axis"):
        top_k(np.float32(3) * np.ones(()), 0)


@given(items=st.lists(st.integers(-3, 3), max_size=20), dtype=st.sampled_from(DTYPES))
def test_unique_keeps_the_order_of_appearance(items: list[int], dtype: Any) -> None:
    x = np.array([abs(i) if dtype == np.uint8 else i for i in items]).astype(dtype)
    y, idx, counts = unique(x)
    plain = [float(v) for v in x]
    assert [float(v) for v in y] == list(dict.fromkeys(plain))
    assert y.dtype == dtype
    assert [float(v) for v in y[idx]] == plain
    assert counts.tolist() == [plain.count(v) for v in dict.fromkeys(plain)]


def test_unique_of_strings_and_of_nan() -> None:
    y, idx, counts = unique(np.array([b"b", b"a", b"b"], object))
    assert (y.tolist(), idx.tolist(), counts.tolist()) == ([b"b", b"a"], [0, 1, 0], [2, 1])
    # TensorFlow 2.21: all NaNs are distinct, -0 equals 0.
    y, idx, _ = unique(np.array([1, np.nan, np.nan, 1, -0.0, 0.0], np.float32))
    np.testing.assert_array_equal(y, np.array([1, np.nan, np.nan, 0], np.float32))
    assert idx.tolist() == [0, 1, 2, 0, 3, 3]


@given(
    x=hnp.arrays(np.int32, hnp.array_shapes(min_dims=2, max_dims=3, max_side=4, min_side=0),
                 elements=st.integers(0, 1)),
    data=st.data(),
)  # fmt: skip
def test_unique_along_an_axis_compares_slices(x: Any, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, x.ndim - 1))
    y, idx, counts = unique_along(x, axis)
    slices = [np.take(x, i, axis).tobytes() for i in range(x.shape[axis])]
    distinct = list(dict.fromkeys(slices))
    assert [np.take(y, i, axis).tobytes() for i in range(y.shape[axis])] == distinct
    assert [distinct[i] for i in idx] == slices
    assert counts.tolist() == [slices.count(s) for s in distinct]


@given(
    n=st.integers(0, 6),
    m=st.integers(0, 4),
    rows=st.integers(0, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_searchsorted_is_bisection_row_by_row(n: int, m: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    keys = np.sort(rng.integers(0, 5, (rows, n)), axis=-1)
    values = rng.integers(-1, 6, (rows, m))
    for side, find in (("left", bisect.bisect_left), ("right", bisect.bisect_right)):
        out = searchsorted(keys, values, side)  # type: ignore[arg-type]
        expected = [[find(keys[r].tolist(), v) for v in values[r].tolist()] for r in range(rows)]
        assert out.tolist() == np.array(expected, int).reshape(rows, m).tolist()
        assert out.dtype == np.int32


def test_searchsorted_refuses_other_leading_axes() -> None:
    with pytest.raises(InvalidArgumentError, match=r"must be equal, got \[2, 3\] and \[1, 3\]"):
        searchsorted(np.zeros((2, 3)), np.zeros((1, 3)), "left")
