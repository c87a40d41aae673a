"""Cases of core/ops/array/earlier.py, with the references of the later versions."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.array.permutations import reverse
from cases.array.shapes import SHAPES, Array, distinct, drawn, ints, numbers
from cases.array.sorting import top_k
from support.opcase import OpCase


def turned(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = draw(SHAPES)
    dims = [draw(st.booleans()) for _ in shape]
    return draw(numbers(shape)), np.array(dims, np.bool_)


def rows_of_five(draw: st.DrawFn) -> tuple[Any, ...]:
    lead = draw(st.lists(st.integers(0, 3), max_size=2))
    return (draw(distinct([*lead, 5])),)


def joined(draw: st.DrawFn) -> tuple[Any, ...]:
    rank = draw(st.integers(1, 4))
    axis = draw(st.integers(0, rank - 1))
    sizes = [draw(st.integers(0, 5)) for _ in range(rank)]
    parts = []
    for _ in range(draw(st.integers(2, 4))):
        part = list(sizes)
        part[axis] = draw(st.integers(0, 5))
        parts.append(ints(*part))
    return np.array(axis - draw(st.sampled_from([0, rank])), np.int32), tuple(parts)


def offsets(axis: Array, shapes: tuple[Array, ...]) -> tuple[Array, ...]:
    found, start = [], 0
    for sizes in shapes:
        place = [0] * len(sizes)
        place[int(axis)] = start
        start += int(sizes[int(axis)])
        found.append(ints(*place))
    return tuple(found)


CASES = [
    OpCase(
        "Reverse", drawn(turned), lambda x, dims: reverse(x, np.flatnonzero(dims).astype(np.int32))
    ),
    *[
        OpCase("TopK", drawn(rows_of_five), lambda x, k=k: top_k(x, k), attrs={"k": k})
        for k in (0, 2, 5)
    ],
    OpCase("ConcatOffset", drawn(joined), offsets),
]
