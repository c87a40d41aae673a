"""Cases of core/ops/array/slice_updates.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.array.shapes import Array, drawn, numbers
from cases.array.slicing import ATTRS, bounds, places, shape_of
from support.opcase import OpCase


def replaced(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = shape_of(draw)
    vectors = bounds(draw, shape)
    first, last = places(shape, *vectors)
    value = draw(numbers([len(first), *shape[1:-2], 1, len(last)]))
    return (draw(numbers(shape)), *vectors, value)


def with_part(x: Array, begin: Array, end: Array, strides: Array, value: Array) -> Array:
    out = x.copy()
    first, last = places(x.shape, begin, end, strides)
    column = range(x.shape[-1])[begin[4]]
    for place in np.ndindex(*value.shape):
        out[(first[place[0]], *place[1:-2], last[place[-1]], column)] = value[place]
    return out


CASES = [OpCase("TensorStridedSliceUpdate", drawn(replaced), with_part, attrs=ATTRS)]
