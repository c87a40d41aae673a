"""Cases of core/ops/math/counting.py: Python's Counter and bisect."""

import bisect
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from pinnace.framework import dtypes
from support.drawing import array, each, numbers
from support.opcase import OpCase

Array = npt.NDArray[Any]

VALUES = st.integers(0, 6)
SIZE = st.just(np.array(5, np.int32))
NONE = st.just(np.zeros(0))
EDGES = (-2.5, 0.0, 1.5, 4.0)


def drawn_with_weights(shape: tuple[int, ...]) -> st.SearchStrategy[tuple[Array, ...]]:
    weights = st.one_of(NONE, array(shape, numbers(1, 3)))
    return st.tuples(array(shape, VALUES, np.int32), SIZE, weights)


def counted(values: Array, size: Array, weights: Array) -> Array:
    if values.ndim > 1:
        rows = [
            counted(v, size, weights[i] if weights.size else weights) for i, v in enumerate(values)
        ]
        return np.array(rows).reshape(len(values), int(size))
    total: Counter[int] = Counter()
    for i, value in enumerate(values.tolist()):
        total[value] += float(weights[i]) if weights.size else 1
    return np.array([float(total[n]) for n in range(int(size))])


def occurs(values: Array, size: Array, weights: Array) -> Array:  # noqa: ARG001 (the protocol)
    return (counted(values, size, np.zeros(0)) > 0).astype(np.float64)


def in_top(predictions: Array, targets: Array, k: Array) -> Array:
    found = []
    for row, target in zip(predictions, targets, strict=True):
        right = 0 <= target < len(row) and np.isfinite(row).all()
        found.append(bool(right and sum(p > row[target] for p in row) < k))
    return np.array(found, np.bool_)


def predictions(rows: int) -> st.SearchStrategy[tuple[Array, ...]]:
    few = st.sampled_from([0.0, 0.5, 1.0, float("nan")]).map(np.float32)
    return st.tuples(
        array((rows, 4), few, np.float32),
        array((rows,), st.integers(-1, 4), np.int32),
        st.integers(0, 4).map(lambda k: np.array(k, np.int32)),
    )


FLAT = st.integers(0, 8).flatmap(lambda n: drawn_with_weights((n,)))
ROWS = st.tuples(st.integers(0, 3), st.integers(1, 4)).flatmap(drawn_with_weights)
COUNTS = (dtypes.float64, dtypes.float32)

CASES = [
    OpCase("DenseBincount", FLAT, counted, dtypes=COUNTS),
    OpCase("DenseBincount", ROWS, counted, dtypes=COUNTS),
    OpCase("DenseBincount", FLAT, occurs, attrs={"binary_output": True}, dtypes=COUNTS),
    OpCase("Bincount", FLAT, counted, dtypes=COUNTS),
    OpCase(
        "Bucketize",
        st.tuples(array(elements=st.one_of(numbers(), st.sampled_from(EDGES)))),
        each(lambda x: bisect.bisect_right(EDGES, x), np.int64),
        attrs={"boundaries": EDGES},
    ),
    OpCase("InTopKV2", st.integers(0, 3).flatmap(predictions), in_top),
    *[
        OpCase(
            "InTopK",
            st.integers(0, 3).flatmap(predictions).map(lambda xs: xs[:2]),
            lambda rows, targets, k=k: in_top(rows, targets, k),
            attrs={"k": k},
        )
        for k in (0, 2)
    ],
]
