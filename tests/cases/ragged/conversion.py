"""Cases of core/ops/ragged/conversion.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.ragged.rows import Array, rows
from support.opcase import OpCase


def filled(shape: Array, values: Array, default: Array, partitions: Any) -> Array:
    (splits,) = partitions
    lengths = np.diff(splits)
    width = int(shape[1]) if shape[1] >= 0 else max(lengths, default=0)
    out = np.full((len(lengths), width), default)
    for row, length in enumerate(lengths):
        kept = min(length, width)
        out[row, :kept] = values[splits[row] : splits[row] + kept]
    return out


def places(nested: Any, values: Array) -> tuple[Array, Array, Array]:
    (splits,) = nested
    lengths = np.diff(splits)
    found = [(row, column) for row, n in enumerate(lengths) for column in range(n)]
    shape = [len(lengths), max(lengths, default=0)]
    return np.array(found, np.int64).reshape(-1, 2), values, np.array(shape, np.int64)


CASES = [
    OpCase(
        "RaggedTensorToTensor",
        st.tuples(rows(), st.sampled_from([-1, 0, 2, 5])).map(
            lambda d: (np.array([-1, d[1]], np.int64), d[0][1], np.array(0.5), (d[0][0],))
        ),
        filled,
        attrs={"row_partition_types": ("ROW_SPLITS",)},
    ),
    OpCase("RaggedTensorToSparse", rows().map(lambda d: ((d[0],), d[1])), places),
]
