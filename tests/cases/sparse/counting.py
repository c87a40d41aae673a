"""Cases of core/ops/sparse/counting.py: Python's Counter."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from cases.sparse.matrices import places
from pinnace.framework import dtypes
from support.drawing import array, numbers
from support.opcase import OpCase

Array = npt.NDArray[Any]

COUNTS = (dtypes.float32, dtypes.float64)
VALUES = st.integers(0, 6)
SIZE = np.array(5, np.int32)


def weights(count: tuple[int, ...]) -> st.SearchStrategy[Array]:
    return st.one_of(st.just(np.zeros(0)), array(count, numbers(1, 3)))


@st.composite
def sparse_values(draw: st.DrawFn) -> tuple[Array, ...]:
    indices, shape = draw(places())
    if draw(st.booleans()):
        indices = np.unique(indices[:, 1])[:, None]
        shape = shape[1:]
    values = draw(array((len(indices),), VALUES, np.int32))
    return indices, values, shape, draw(weights(values.shape))


@st.composite
def ragged_values(draw: st.DrawFn) -> tuple[Array, ...]:
    lengths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    splits = np.cumsum([0, *lengths]).astype(np.int64)
    values = draw(array((int(splits[-1]),), VALUES, np.int32))
    return splits, values, draw(weights(values.shape))


@st.composite
def dense_values(draw: st.DrawFn) -> tuple[Array, ...]:
    shape = draw(st.sampled_from([(0,), (4,), (1, 3), (2, 4)]))
    return draw(array(shape, VALUES, np.int32)), draw(weights(shape))


ONCE = {"minlength": -1, "maxlength": -1, "binary_output": True}


def rows_of(values: Array, owners: list[int] | None, each: Array, count: int) -> list[Counter[int]]:
    rows: list[Counter[int]] = [Counter() for _ in range(count if owners is not None else 1)]
    for at, value in enumerate(values.tolist()):
        amount = float(each[at]) if each.size else 1.0
        rows[0 if owners is None else owners[at]][value] += amount  # type: ignore[assignment]
    return rows


def owners_of(splits: Array) -> list[int]:
    return [row for row, n in enumerate(np.diff(splits).tolist()) for _ in range(n)]


def table(rows: list[Counter[int]], flat: bool, once: bool = False) -> Array:
    found = [[float(row[n] > 0 if once else row[n]) for n in range(int(SIZE))] for row in rows]
    return np.array(found[0] if flat else found).reshape((-1,) if flat else (-1, int(SIZE)))


def sparse_bins(once: bool) -> Any:
    def count(indices: Array, values: Array, shape: Array, _: Array, each: Array) -> Array:
        flat = len(shape) == 1
        rows = rows_of(values, None if flat else indices[:, 0].tolist(), each, int(shape[0]))
        return table(rows, flat, once)

    return count


def ragged_bins(splits: Array, values: Array, _: Array, each: Array) -> Array:
    return table(rows_of(values, owners_of(splits), each, len(splits) - 1), flat=False)


def listed(rows: list[Counter[int]], flat: bool, once: bool = False) -> tuple[Array, ...]:
    """The contents of a Counter as components of a sparse tensor, of unlimited length."""
    found = [((at, n), row[n]) for at, row in enumerate(rows) for n in sorted(row)]
    size = max((n + 1 for (_, n), _ in found), default=1)
    indices = np.array([p[1:] if flat else p for p, _ in found], np.int64)
    return (
        indices.reshape(len(found), 1 if flat else 2),
        np.array([1.0 if once else total for _, total in found], np.float64),
        np.array([size] if flat else [len(rows), size], np.int64),
    )


def sparse_counts(once: bool) -> Any:
    def count(indices: Array, values: Array, shape: Array, each: Array) -> Any:
        flat = len(shape) == 1
        owners = None if flat else indices[:, 0].tolist()
        return listed(rows_of(values, owners, each, int(shape[0])), flat, once)

    return count


def ragged_counts(splits: Array, values: Array, each: Array) -> Any:
    return listed(rows_of(values, owners_of(splits), each, len(splits) - 1), flat=False)


def dense_counts(values: Array, each: Array) -> Any:
    flat = values.ndim == 1
    owners = None if flat else np.repeat(np.arange(len(values)), values.shape[1]).tolist()
    return listed(rows_of(values.ravel(), owners, each.ravel(), len(values)), flat)


PLAIN = {"minlength": -1, "maxlength": -1, "binary_output": False}
BINS = sparse_values().map(lambda d: (*d[:3], SIZE, d[3]))
CASES = [
    OpCase("SparseBincount", BINS, sparse_bins(False), dtypes=COUNTS),
    OpCase("SparseBincount", BINS, sparse_bins(True), attrs={"binary_output": True}, dtypes=COUNTS),
    OpCase(
        "RaggedBincount",
        ragged_values().map(lambda d: (*d[:2], SIZE, d[2])),
        ragged_bins,
        dtypes=COUNTS,
    ),
    OpCase(
        "SparseCountSparseOutput", sparse_values(), sparse_counts(False), attrs=PLAIN, dtypes=COUNTS
    ),
    OpCase(
        "SparseCountSparseOutput", sparse_values(), sparse_counts(True), attrs=ONCE, dtypes=COUNTS
    ),
    OpCase("RaggedCountSparseOutput", ragged_values(), ragged_counts, attrs=PLAIN, dtypes=COUNTS),
    OpCase("DenseCountSparseOutput", dense_values(), dense_counts, attrs=PLAIN, dtypes=COUNTS),
]
