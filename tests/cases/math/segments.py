"""Cases of core/ops/math/segments.py: rows gathered by id in a dictionary."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from pinnace.framework import dtypes
from support.drawing import array, numbers
from support.opcase import OpCase

Array = npt.NDArray[Any]


def sorted_rows(elements: Any = None) -> st.SearchStrategy[tuple[Array, ...]]:
    ids = st.lists(st.integers(0, 4), max_size=6).map(
        lambda found: np.array(sorted(found), np.int32)
    )
    return with_rows(ids, elements)


def with_rows(ids: Any, elements: Any) -> st.SearchStrategy[tuple[Array, ...]]:
    widths = st.sampled_from([(), (2,), (2, 0)])
    return st.tuples(ids, widths).flatmap(
        lambda drawn: st.tuples(array((*drawn[0].shape, *drawn[1]), elements), st.just(drawn[0]))
    )


def distinct(drawn: tuple[Array, ...]) -> tuple[Array, ...]:
    """Distinct integers, so that extremes are unique."""
    x, *rest = drawn
    ranks = np.argsort(np.argsort(x, axis=None, kind="stable"), kind="stable")
    return ranks.reshape(x.shape).astype(np.float64) - 3, *rest


def any_rows(elements: Any = None) -> st.SearchStrategy[tuple[Array, ...]]:
    """Ids of rank 1 and 2, some negative; 5 segments."""
    shapes = st.sampled_from([(0,), (4,), (6,), (2, 3)])
    ids = shapes.flatmap(lambda shape: array(shape, st.integers(-1, 4), np.int64))
    return with_rows(ids, elements).map(lambda drawn: (*drawn, np.array(5, np.int32)))


def grouped(join: Callable[[list[float]], float], nothing: float) -> Callable[..., Array]:
    def reduced(data: Array, ids: Array, num_segments: Any = None) -> Array:
        count = int(ids.max(initial=-1)) + 1 if num_segments is None else int(num_segments)
        inner = data.shape[ids.ndim :]
        groups: dict[tuple[int, ...], list[float]] = {}
        for place in np.ndindex(*data.shape):
            row, column = place[: ids.ndim], place[ids.ndim :]
            groups.setdefault((int(ids[row]), *column), []).append(float(data[place]))
        out = np.full((count, *inner), float(nothing))
        for key, values in groups.items():
            if key[0] >= 0:
                out[key] = join(values)
        return out

    return reduced


def average(values: list[float]) -> float:
    return math.fsum(values) / len(values)


SUMS: dict[str, Any] = {"slack": 256}
GENTLE = numbers(0.5, 2)
ZEROS = st.sampled_from([0.0, 1.5, -2.0])

CASES = [
    OpCase("SegmentSum", sorted_rows(), grouped(math.fsum, 0), **SUMS),
    OpCase("SegmentMean", sorted_rows(), grouped(average, 0), **SUMS),
    OpCase("SegmentProd", sorted_rows(GENTLE), grouped(math.prod, 1), smooth=100),
    OpCase("SegmentProd", sorted_rows(ZEROS), grouped(math.prod, 1)),
    OpCase("SegmentMax", sorted_rows().map(distinct), grouped(max, 0)),
    OpCase("SegmentMin", sorted_rows().map(distinct), grouped(min, 0)),
    OpCase("UnsortedSegmentSum", any_rows(), grouped(math.fsum, 0), **SUMS),
    OpCase("UnsortedSegmentProd", any_rows(GENTLE), grouped(math.prod, 1), smooth=100),
    OpCase("UnsortedSegmentProd", any_rows(ZEROS), grouped(math.prod, 1)),
]


def extremes() -> list[OpCase]:
    """The reference for extremes: the result of an empty segment depends on the dtype."""
    found = []
    for dtype in (dtypes.float64, dtypes.float32):
        low = float(np.finfo(dtype.numpy).min)
        options: dict[str, Any] = {"dtypes": (dtype,)}
        if dtype is dtypes.float32:
            options["differentiable"] = ()
        rows = any_rows().map(distinct)
        found.append(OpCase("UnsortedSegmentMax", rows, grouped(max, low), **options))
        found.append(OpCase("UnsortedSegmentMin", rows, grouped(min, -low), **options))
    return found


CASES += extremes()
