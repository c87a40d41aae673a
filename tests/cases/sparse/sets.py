"""Cases of core/ops/sparse/sets.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.sparse.matrices import Array
from support.opcase import OpCase

ROWS = st.lists(st.lists(st.integers(-3, 3), max_size=4), min_size=1, max_size=3)


def as_sparse(rows: list[list[int]]) -> tuple[Array, Array, Array]:
    places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = [n for row in rows for n in row]
    shape = [len(rows), max(1, *(len(row) for row in rows))]
    return (
        np.array(places, np.int64).reshape(-1, 2),
        np.array(values, np.int64),
        np.array(shape, np.int64),
    )


def rows_of(indices: Array, values: Array, shape: Array) -> list[set[int]]:
    found: list[set[int]] = [set() for _ in range(int(shape[0]))]
    for (row, _), value in zip(indices.tolist(), values.tolist(), strict=True):
        found[row].add(value)
    return found


def result(rows: list[set[int]]) -> tuple[Array, Array, Array]:
    indices, values, shape = as_sparse([sorted(row) for row in rows])
    shape[1] = max(len(row) for row in rows)
    return indices, values, shape


def union(*parts: Any) -> tuple[Array, Array, Array]:
    a, b = rows_of(*parts[:3]), rows_of(*parts[3:])
    return result([x | y for x, y in zip(a, b, strict=True)])


@st.composite
def two(draw: st.DrawFn) -> tuple[Any, ...]:
    rows = draw(ROWS)
    others = [draw(st.lists(st.integers(-3, 3), max_size=4)) for _ in rows]
    return *as_sparse(rows), *as_sparse(others)


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Array, Array]:
    count = draw(st.integers(1, 3))
    sizes = [draw(st.integers(1, 4)) for _ in "ab"]
    a, b = (
        np.array([[draw(st.integers(-3, 3)) for _ in range(n)] for _ in range(count)], np.int64)
        for n in sizes
    )
    return a, b


def intersection(a: Array, b: Array) -> tuple[Array, Array, Array]:
    return result([set(x) & set(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)])


CASES = [
    OpCase("SetSize", ROWS.map(as_sparse), lambda *p: np.array([len(x) for x in rows_of(*p)])),
    OpCase("SparseToSparseSetOperation", two(), union, attrs={"set_operation": "union"}),
    OpCase(
        "DenseToDenseSetOperation",
        matrices(),
        intersection,
        attrs={"set_operation": "intersection"},
    ),
    OpCase(
        "DenseToSparseSetOperation",
        two().map(lambda d: (np.arange(d[2][0] * 2).reshape(-1, 2) - 3, *d[3:])),
        lambda a, *b: result([set(x) - y for x, y in zip(a.tolist(), rows_of(*b), strict=True)]),
        attrs={"set_operation": "a-b"},
    ),
]
