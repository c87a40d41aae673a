"""Cases of core/ops/array/tiling.py."""

from typing import Any

from hypothesis import strategies as st

from cases.array.shapes import Array, built, drawn, ints, numbers
from support.opcase import OpCase


def tiled(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    return draw(numbers(shape)), ints(*(draw(st.integers(0, 3)) for _ in shape))


def tile(x: Array, counts: Array) -> Array:
    sizes = [n * int(m) for n, m in zip(x.shape, counts, strict=True)]
    return built(sizes, lambda *p: x[tuple(i % n for i, n in zip(p, x.shape, strict=True))])


CASES = [
    OpCase("Tile", drawn(tiled), tile),
]
