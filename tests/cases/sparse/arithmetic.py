"""Cases of core/ops/sparse/arithmetic.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.sparse.matrices import Array, dense, numbers, sparse
from support.opcase import OpCase


@st.composite
def summands(draw: st.DrawFn) -> tuple[Any, ...]:
    """Two matrices of one shape with some common indices; no sum of two values is near 0."""
    indices, values, shape = draw(sparse())
    rows, columns = (int(n) for n in shape)
    other = [(i, j) for i in range(rows) for j in range(columns) if draw(st.booleans())]
    places = np.array(other, np.int64).reshape(-1, 2)
    return indices, values, shape, places, draw(numbers(len(other))), shape, np.array(0.0)


def total(*parts: Any) -> tuple[Array, Array, Array]:
    a, b = parts[:3], parts[3:6]
    summed = dense(*a) + dense(*b)
    places = sorted({tuple(row) for x in (a, b) for row in x[0].tolist()})
    indices = np.array(places, np.int64).reshape(-1, 2)
    return indices, summed[indices[:, 0], indices[:, 1]], a[2]


@st.composite
def with_dense(draw: st.DrawFn) -> tuple[Any, ...]:
    indices, values, shape = draw(sparse())
    full = draw(numbers(int(shape.prod()))).reshape(tuple(shape))
    return indices, values, shape, full


CASES = [
    OpCase("SparseAdd", summands(), total),
    OpCase("SparseTensorDenseAdd", with_dense(), lambda i, v, s, b: dense(i, v, s) + b),
    OpCase(
        "SparseDenseCwiseMul",
        with_dense(),
        lambda i, v, s, b: (dense(i, v, s) * b)[i[:, 0], i[:, 1]],
    ),
    OpCase(
        "SparseDenseCwiseDiv",
        with_dense(),
        lambda i, v, s, b: (dense(i, v, s) / b)[i[:, 0], i[:, 1]],
        ulps=8,
        smooth=1e3,
        reason="divisors as small as 0.03 make quotients, and their third derivatives, large",
    ),
]
