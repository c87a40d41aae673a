"""Cases of core/ops/sparse/products.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.sparse.matrices import Array, dense, numbers, sparse
from support.opcase import OpCase


@st.composite
def factors(draw: st.DrawFn) -> tuple[Any, ...]:
    indices, values, shape = draw(sparse())
    right = draw(numbers(int(shape[1]) * 2)).reshape(-1, 2)
    return indices, values, shape, right


def product(indices: Array, values: Array, shape: Array, b: Array) -> Array:
    return np.asarray(dense(indices, values, shape) @ b)


CASES = [
    OpCase(
        "SparseTensorDenseMatMul",
        factors(),
        product,
        slack=64,
        reason="sums of a few products of size 4, in another order",
    )
]
