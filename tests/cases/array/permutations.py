"""Cases of core/ops/array/permutations.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.array.shapes import SHAPES, Array, built, drawn, ints, numbers
from pinnace.framework import dtypes
from support.opcase import OpCase


def reversed_axes(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = draw(SHAPES)
    axes = draw(st.lists(st.integers(0, len(shape) - 1), unique=True)) if shape else []
    negative = [axis - len(shape) if draw(st.booleans()) else axis for axis in axes]
    return draw(numbers(shape)), ints(*negative)


def reverse(x: Array, axes: Array) -> Array:
    turned = {axis % x.ndim for axis in axes.tolist()}

    def element(*place: int) -> Any:
        rows = enumerate(zip(place, x.shape, strict=True))
        return x[tuple(n - 1 - i if axis in turned else i for axis, (i, n) in rows)]

    return built(x.shape, element)


def sequences(draw: st.DrawFn) -> tuple[Any, ...]:
    batch, steps = draw(st.integers(0, 3)), draw(st.integers(0, 4))
    lengths = [draw(st.integers(0, steps)) for _ in range(batch)]
    return draw(numbers([steps, batch, 2])), np.array(lengths, np.int64)


def reverse_sequence(x: Array, lengths: Array) -> Array:
    out = x.copy()
    for i, length in enumerate(lengths.tolist()):
        out[:length, i] = [x[j, i] for j in range(length)][::-1] if length else out[:0, i]
    return out


def rolled(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = [draw(st.integers(0, 4)) for _ in range(draw(st.integers(1, 3)))]
    axes = draw(st.lists(st.integers(0, len(shape) - 1), max_size=3))
    return draw(numbers(shape)), ints(*(draw(st.integers(-6, 6)) for _ in axes)), ints(*axes)


def roll(x: Array, shifts: Array, axes: Array) -> Array:
    total = [0] * x.ndim
    for shift, axis in zip(shifts.tolist(), axes.tolist(), strict=True):
        total[axis] += shift

    def element(*place: int) -> Any:
        return x[tuple((i - t) % n for i, t, n in zip(place, total, x.shape, strict=True))]

    return built(x.shape, element)


ORDERS = st.integers(0, 6).flatmap(lambda n: st.permutations(range(n)))


def permuted(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = draw(SHAPES)
    perm = draw(st.permutations(range(len(shape))))
    # Axes may also be negative.
    named = [axis - len(shape) if draw(st.booleans()) else axis for axis in perm]
    return draw(numbers(shape)), ints(*named)


def complex_permuted(draw: st.DrawFn) -> tuple[Any, ...]:
    x, perm = permuted(draw)
    return x + 1j * draw(numbers(x.shape)), perm


def transpose(x: Array, perm: Array) -> Array:
    places = [axis + x.ndim if axis < 0 else axis for axis in perm.tolist()]
    sizes = [x.shape[axis] for axis in places]
    return built(sizes, lambda *p: x[tuple(p[places.index(i)] for i in range(x.ndim))], x.dtype)


CASES = [
    OpCase("Transpose", drawn(permuted), transpose),
    OpCase(
        "ConjugateTranspose",
        drawn(complex_permuted),
        lambda x, perm: transpose(x.real - 1j * x.imag, perm),
        dtypes=(dtypes.float64, dtypes.float32),
    ),
    OpCase("ReverseV2", drawn(reversed_axes), reverse),
    OpCase(
        "ReverseSequence",
        drawn(sequences),
        reverse_sequence,
        attrs={"seq_dim": 0, "batch_dim": 1},
    ),
    OpCase("Roll", drawn(rolled), roll),
    OpCase(
        "InvertPermutation",
        ORDERS.map(lambda order: (ints(*order),)),
        lambda x: ints(*(x.tolist().index(i) for i in range(len(x)))),
    ),
]
