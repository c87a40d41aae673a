"""Cases of core/ops/array/padding.py."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.array.shapes import Array, built, drawn, numbers
from support.opcase import OpCase


def padded(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    pairs = [[draw(st.integers(0, 2)) for _ in range(2)] for _ in shape]
    return draw(numbers(shape)), np.array(pairs, np.int32).reshape(-1, 2)


def padded_with(draw: st.DrawFn) -> tuple[Any, ...]:
    return (*padded(draw), draw(numbers(())))


def pad(x: Array, pairs: Array, value: Any = 0.0) -> Array:
    sizes = [n + a + b for n, (a, b) in zip(x.shape, pairs.tolist(), strict=True)]

    def element(*place: int) -> Any:
        own = [i - a for i, (a, _) in zip(place, pairs.tolist(), strict=True)]
        inside = all(0 <= i < n for i, n in zip(own, x.shape, strict=True))
        return x[tuple(own)] if inside else value

    return built(sizes, element)


def mirrored(edge: int) -> Callable[[st.DrawFn], tuple[Any, ...]]:
    def draw_mirrored(draw: st.DrawFn) -> tuple[Any, ...]:
        shape = draw(st.lists(st.integers(edge, 3), max_size=3))
        pairs = [[draw(st.integers(0, n - edge)) for _ in range(2)] for n in shape]
        return draw(numbers(shape)), np.array(pairs, np.int32).reshape(-1, 2)

    return draw_mirrored


def source(place: int, size: int, edge: int) -> int:
    """The index inside that an index outside shows: reflected at the ends."""
    if place < 0:
        return -place - 1 + edge
    return 2 * size - 1 - edge - place if place >= size else place


def mirror(x: Array, pairs: Array, edge: int) -> Array:
    sizes = [n + a + b for n, (a, b) in zip(x.shape, pairs.tolist(), strict=True)]
    rows = list(zip(x.shape, pairs.tolist(), strict=True))

    def element(*place: int) -> Any:
        shown = zip(place, rows, strict=True)
        return x[tuple(source(i - a, n, edge) for i, (n, (a, _)) in shown)]

    return built(sizes, element)


def folded(edge: int) -> Callable[[st.DrawFn], tuple[Any, ...]]:
    def draw_folded(draw: st.DrawFn) -> tuple[Any, ...]:
        x, pairs = mirrored(edge)(draw)
        return draw(numbers(mirror(x, pairs, edge).shape)), pairs

    return draw_folded


def fold(dy: Array, pairs: Array, edge: int) -> Array:
    sizes = [n - a - b for n, (a, b) in zip(dy.shape, pairs.tolist(), strict=True)]
    out = np.zeros(sizes)
    rows = list(zip(sizes, pairs.tolist(), strict=True))
    for place in np.ndindex(*dy.shape):
        shown = zip(place, rows, strict=True)
        out[tuple(source(i - a, n, edge) for i, (n, (a, _)) in shown)] += dy[place]
    return out


REFLECT, SYMMETRIC = {"mode": "REFLECT"}, {"mode": "SYMMETRIC"}

CASES = [
    OpCase("Pad", drawn(padded), pad),
    # In TensorFlow the padding value has no gradient.
    OpCase("PadV2", drawn(padded_with), pad, differentiable=(0,)),
    OpCase("MirrorPad", drawn(mirrored(1)), lambda x, p: mirror(x, p, 1), attrs=REFLECT),
    OpCase("MirrorPad", drawn(mirrored(0)), lambda x, p: mirror(x, p, 0), attrs=SYMMETRIC),
    OpCase("MirrorPadGrad", drawn(folded(1)), lambda x, p: fold(x, p, 1), attrs=REFLECT),
    OpCase("MirrorPadGrad", drawn(folded(0)), lambda x, p: fold(x, p, 0), attrs=SYMMETRIC),
]
