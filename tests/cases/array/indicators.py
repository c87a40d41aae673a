"""Cases of core/ops/array/indicators.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cases.array.gathering import places
from cases.array.shapes import Array, built, drawn, ints, numbers, scalar
from support.opcase import OpCase


def hot(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = draw(st.lists(st.integers(0, 3), max_size=2))
    indices = draw(hnp.arrays(np.int64, tuple(shape), elements=st.integers(-2, 4)))
    return indices, scalar(draw(st.integers(0, 3))), draw(numbers(())), draw(numbers(()))


def one_hot(indices: Array, depth: Array, on: Array, off: Array) -> Array:
    sizes = (*indices.shape, int(depth))
    return built(sizes, lambda *p: on if indices[p[:-1]] == p[-1] else off)


def coordinates(indices: Array, dims: Array) -> Array:
    found = []
    rest = indices
    for size in dims.tolist()[::-1]:
        found.append(rest % size)
        rest = rest // size
    return np.array(found[::-1])


CASES = [
    # In TensorFlow the values of OneHot have no gradient.
    OpCase("OneHot", drawn(hot), one_hot),
    OpCase("OneHot", drawn(hot), lambda *xs: np.moveaxis(one_hot(*xs), -1, 0), attrs={"axis": 0}),
    OpCase(
        "UnravelIndex",
        st.tuples(places(24, [5]).map(lambda x: x.astype(np.int32)), st.just(ints(2, 3, 4))),
        coordinates,
    ),
]
