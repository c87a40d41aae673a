"""Cases of core/ops/array/sorting.py."""

import bisect
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.array.shapes import Array, distinct, drawn, numbers, scalar
from support.opcase import OpCase


def ranked(draw: st.DrawFn) -> tuple[Any, ...]:
    lead = draw(st.lists(st.integers(0, 3), max_size=2))
    size = draw(st.integers(0, 6))
    return draw(distinct([*lead, size])), scalar(draw(st.integers(0, size)))


def with_ties(draw: st.DrawFn) -> tuple[Any, ...]:
    return draw(numbers([2, 40])), scalar(draw(st.integers(0, 40)))


def top_k(x: Array, k: Array) -> tuple[Array, Array]:
    orders = [
        sorted(range(len(row)), key=lambda i, row=row: (-row[i], i))[: int(k)]
        for row in x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])
    ]
    indices = np.array(orders, np.int64).reshape(*x.shape[:-1], int(k))
    return np.take_along_axis(x, indices, -1), indices


def searched(draw: st.DrawFn) -> tuple[Any, ...]:
    rows, n, m = (draw(st.integers(0, 4)) for _ in range(3))
    return np.sort(draw(numbers([rows, n])), axis=1), draw(numbers([rows, m]))


def bound(find: Callable[..., int]) -> Callable[..., Array]:
    def reference(rows: Array, values: Array) -> Array:
        pairs = zip(rows.tolist(), values, strict=True)
        found = [[find(row, value) for value in wanted] for row, wanted in pairs]
        return np.array(found, np.int32).reshape(values.shape)

    return reference


CASES = [
    OpCase("TopKV2", drawn(ranked), top_k),
    OpCase("TopKV2", drawn(with_ties), top_k, differentiable=()),
    OpCase("LowerBound", drawn(searched), bound(bisect.bisect_left)),
    OpCase("UpperBound", drawn(searched), bound(bisect.bisect_right)),
]
