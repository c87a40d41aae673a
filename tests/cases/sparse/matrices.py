"""Strategies for sparse matrices, and their dense form."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

Array = npt.NDArray[Any]

CASES: list[Any] = []


@st.composite
def places(draw: st.DrawFn, least: int = 0, ordered: bool = True) -> tuple[Array, Array]:
    """Different indices into a small matrix, and its shape."""
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    found = draw(
        st.lists(
            st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)),
            unique=True,
            min_size=min(least, rows * columns),
            max_size=6,
        )
    )
    if ordered:
        found.sort()
    return np.array(found, np.int64).reshape(-1, 2), np.array([rows, columns], np.int64)


def numbers(count: int) -> st.SearchStrategy[Array]:
    """Real numbers, none of them near 0."""
    return st.lists(
        st.integers(1, 64).map(lambda n: n / 16 - 2.03), min_size=count, max_size=count
    ).map(lambda xs: np.array(xs, np.float64))


@st.composite
def sparse(draw: st.DrawFn, least: int = 0, ordered: bool = True) -> tuple[Array, Array, Array]:
    """Indices, values, shape."""
    indices, shape = draw(places(least, ordered))
    return indices, draw(numbers(len(indices))), shape


def dense(indices: Array, values: Array, shape: Array) -> Array:
    """The matrix itself."""
    out = np.zeros(tuple(shape))
    for (row, column), value in zip(indices.tolist(), values, strict=True):
        out[row, column] += value
    return out
