"""Cases of core/ops/array/moved_windows.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.array.shapes import Array, built, drawn, ints, numbers
from support.opcase import OpCase


def window(draw: st.DrawFn) -> tuple[list[int], list[int], Array]:
    """The shape of a tensor, of a window in it, and the requested start of the window."""
    shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    sizes = [draw(st.integers(0, n)) for n in shape]
    return shape, sizes, ints(*(draw(st.integers(-3, 6)) for _ in shape))


def taken(draw: st.DrawFn) -> tuple[Any, ...]:
    shape, sizes, starts = window(draw)
    return draw(numbers(shape)), starts, ints(*sizes)


def replaced(draw: st.DrawFn) -> tuple[Any, ...]:
    shape, sizes, starts = window(draw)
    return draw(numbers(shape)), draw(numbers(sizes)), starts


def first(n: int, start: int, size: int) -> int:
    """The index from 0 to n - size that is nearest to `start`."""
    return min(range(n - size + 1), key=lambda place: abs(place - start))


def part(x: Array, starts: Array, sizes: Array) -> Array:
    begin = [first(*one) for one in zip(x.shape, starts, sizes, strict=True)]
    return built(sizes, lambda *place: x[tuple(np.add(begin, place))])


def with_part(x: Array, update: Array, starts: Array) -> Array:
    begin = [first(*one) for one in zip(x.shape, starts, update.shape, strict=True)]

    def element(*place: int) -> Any:
        inside = tuple(at - start for at, start in zip(place, begin, strict=True))
        known = all(0 <= at < size for at, size in zip(inside, update.shape, strict=True))
        return update[inside] if known else x[place]

    return built(x.shape, element)


CASES = [
    OpCase("XlaDynamicSlice", drawn(taken), part),
    OpCase("XlaDynamicUpdateSlice", drawn(replaced), with_part),
]
