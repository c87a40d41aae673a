"""Cases of core/ops/sparse/joining.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.sparse.matrices import Array, dense, numbers, sparse
from support.opcase import OpCase


@st.composite
def stacked(draw: st.DrawFn) -> tuple[Any, ...]:
    """Two matrices with equal numbers of columns."""
    indices, values, shape = draw(sparse())
    height = draw(st.integers(1, 3))
    other = [
        (row, column)
        for row in range(height)
        for column in range(int(shape[1]))
        if draw(st.booleans())
    ]
    places = np.array(other, np.int64).reshape(-1, 2)
    below = (places, draw(numbers(len(other))), np.array([height, shape[1]], np.int64))
    return tuple(zip((indices, values, shape), below, strict=True))


def joined(indices: Any, values: Any, shapes: Any) -> tuple[Array, Array, Array]:
    whole = np.concatenate([dense(*parts) for parts in zip(indices, values, shapes, strict=True)])
    # Values drawn are never 0.
    rows, columns = np.nonzero(whole)
    return np.stack([rows, columns], 1), whole[rows, columns], np.array(whole.shape, np.int64)


CASES = [OpCase("SparseConcat", stacked(), joined, attrs={"concat_dim": 0}, differentiable=(1,))]
