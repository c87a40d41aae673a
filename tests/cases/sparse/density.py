"""Cases of core/ops/sparse/density.py."""

import numpy as np
from hypothesis import strategies as st

from cases.sparse.matrices import Array, sparse
from support.opcase import OpCase


def filled(indices: Array, shape: Array, values: Array, default: Array) -> Array:
    out = np.full(tuple(shape), default)
    for (row, column), value in zip(indices.tolist(), values, strict=True):
        out[row, column] = value
    return out


INPUTS = st.tuples(sparse(), st.just(np.array(0.5))).map(
    lambda drawn: (drawn[0][0], drawn[0][2], drawn[0][1], drawn[1])
)
CASES = [OpCase("SparseToDense", INPUTS, filled)]
