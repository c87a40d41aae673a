"""Cases of core/ops/array/duplicates.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cases.array.shapes import Array, drawn
from support.opcase import OpCase

VALUES = st.integers(-2, 2)


def vector(draw: st.DrawFn) -> tuple[Any, ...]:
    return (draw(hnp.arrays(np.float64, draw(st.integers(0, 8)), elements=VALUES)),)


def unique(x: Array) -> tuple[Array, ...]:
    seen: list[Any] = []
    for item in x.tolist():
        if item not in seen:
            seen.append(item)
    idx = [seen.index(item) for item in x.tolist()]
    return (
        np.array(seen),
        np.array(idx, np.int32),
        np.array([idx.count(i) for i in range(len(seen))]),
    )


def columns(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = (2, draw(st.integers(1, 5)))
    return draw(hnp.arrays(np.int32, shape, elements=st.integers(0, 1))), np.array([1], np.int64)


def unique_columns(x: Array, _: Array) -> tuple[Array, ...]:
    names = np.array([3 * a + b for a, b in x.T])
    y, idx, count = unique(names)
    return np.array([y // 3, y % 3]), idx, count


def two_lists(draw: st.DrawFn) -> tuple[Any, ...]:
    return vector(draw) + vector(draw)


def difference(x: Array, y: Array) -> tuple[Array, Array]:
    kept = [i for i, item in enumerate(x) if not (y == item).any()]
    return np.array([x[i] for i in kept]), np.array(kept)


CASES = [
    OpCase("Unique", drawn(vector), lambda x: unique(x)[:2]),
    OpCase("UniqueWithCounts", drawn(vector), unique),
    OpCase("UniqueV2", drawn(columns), lambda x, axis: unique_columns(x, axis)[:2]),
    OpCase("UniqueWithCountsV2", drawn(columns), unique_columns),
    OpCase("ListDiff", drawn(two_lists), difference),
]
