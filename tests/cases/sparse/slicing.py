"""Cases of core/ops/sparse/slicing.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.sparse.matrices import Array, dense, sparse
from support.opcase import OpCase


def parts(whole: Array) -> tuple[Array, Array, Array]:
    # Values drawn are never 0.
    rows, columns = np.nonzero(whole)
    return np.stack([rows, columns], 1), whole[rows, columns], np.array(whole.shape, np.int64)


@st.composite
def windows(draw: st.DrawFn) -> tuple[Any, ...]:
    indices, values, shape = draw(sparse())
    start = np.array([draw(st.integers(0, int(n) - 1)) for n in shape], np.int64)
    size = np.array([draw(st.integers(1, 4)) for _ in shape], np.int64)
    return indices, values, shape, start, size


def window(indices: Array, values: Array, shape: Array, start: Array, size: Array) -> Any:
    low, high = start, start + size
    return parts(dense(indices, values, shape)[low[0] : high[0], low[1] : high[1]])


def halves(axis: Array, indices: Array, values: Array, shape: Array) -> Any:
    # TensorFlow: the first pieces are the larger ones.
    pieces = np.array_split(dense(indices, values, shape), 2, int(axis))
    return tuple(one for column in zip(*map(parts, pieces), strict=True) for one in column)


CUTS = sparse().filter(lambda drawn: drawn[2].min() > 1)
CASES = [
    OpCase("SparseSlice", windows(), window),
    OpCase(
        "SparseSplit",
        st.tuples(st.sampled_from([0, 1]), CUTS).map(lambda d: (np.array(d[0], np.int64), *d[1])),
        halves,
        attrs={"num_split": 2},
    ),
]
