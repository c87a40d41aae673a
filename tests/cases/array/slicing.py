"""Cases of core/ops/array/slicing.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.array.shapes import Array, built, drawn, ints, numbers
from support.opcase import OpCase

ATTRS = {
    "begin_mask": 0b0001,
    "end_mask": 0b1000,
    "ellipsis_mask": 0b0010,
    "new_axis_mask": 0b0100,
    "shrink_axis_mask": 0b10000,
}


def bounds(draw: st.DrawFn, shape: list[int]) -> tuple[Array, Array, Array]:
    """x[:end:step, ..., None, begin::step, index]."""
    steps = [draw(st.sampled_from([-2, -1, 1, 2])) for _ in range(2)]
    begin = [0, 0, 0, draw(st.integers(-5, 5)), draw(st.integers(-shape[-1], shape[-1] - 1))]
    end = [draw(st.integers(-5, 5)), 0, 0, 0, 0]
    return ints(*begin), ints(*end), ints(steps[0], 1, 1, steps[1], 1)


def shape_of(draw: st.DrawFn) -> list[int]:
    between = draw(st.lists(st.integers(0, 2), max_size=1))
    return [draw(st.integers(0, 4)), *between, draw(st.integers(0, 4)), draw(st.integers(1, 3))]


def sliced(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = shape_of(draw)
    return (draw(numbers(shape)), *bounds(draw, shape))


def places(shape: Any, begin: Array, end: Array, strides: Array) -> list[range]:
    """The selected indices of the first axis, and of the last axis but one."""
    first = range(shape[0])[: end[0] : strides[0]]
    last = range(shape[-2])[begin[3] :: strides[3]]
    return [first, last]


def strided_slice(x: Array, begin: Array, end: Array, strides: Array) -> Array:
    first, last = places(x.shape, begin, end, strides)
    between = x.shape[1:-2]
    column = range(x.shape[-1])[begin[4]]

    def element(*place: int) -> Any:
        inner = place[1 : 1 + len(between)]
        return x[(first[place[0]], *inner, last[place[-1]], column)]

    return built((len(first), *between, 1, len(last)), element)


def put_back(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = shape_of(draw)
    vectors = bounds(draw, shape)
    first, last = places(shape, *vectors)
    dy = draw(numbers([len(first), *shape[1:-2], 1, len(last)]))
    return (ints(*shape), *vectors, dy)


def strided_slice_grad(shape: Array, begin: Array, end: Array, strides: Array, dy: Array) -> Array:
    out = np.zeros(shape)
    first, last = places(shape.tolist(), begin, end, strides)
    column = range(shape[-1])[begin[4]]
    for place in np.ndindex(*dy.shape):
        out[(first[place[0]], *place[1:-2], last[place[-1]], column)] += dy[place]
    return out


def boxed(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    begin = [draw(st.integers(0, n)) for n in shape]
    ends = zip(shape, begin, strict=True)
    size = [draw(st.integers(0, n - start) | st.just(-1)) for n, start in ends]
    return draw(numbers(shape)), ints(*begin), ints(*size)


def box(x: Array, begin: Array, size: Array) -> Array:
    rows = zip(x.shape, begin.tolist(), size.tolist(), strict=True)
    sizes = [n - start if length < 0 else length for n, start, length in rows]
    return built(sizes, lambda *p: x[tuple(np.add(p, begin).tolist())])


CASES = [
    OpCase("StridedSlice", drawn(sliced), strided_slice, attrs=ATTRS),
    OpCase("StridedSliceGrad", drawn(put_back), strided_slice_grad, attrs=ATTRS),
    OpCase("Slice", drawn(boxed), box),
]
