"""Cases of core/ops/array/joining.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.array.shapes import Array, built, drawn, ints, numbers, scalar
from support.opcase import OpCase


def parts(draw: st.DrawFn, axis: int) -> tuple[Any, ...]:
    """Arrays of rank 3 that differ along `axis` only."""
    shape = [draw(st.integers(0, 3)) for _ in range(3)]
    found = []
    for _ in range(draw(st.integers(1, 3))):
        shape[axis] = draw(st.integers(0, 3))
        found.append(draw(numbers(shape)))
    return tuple(found)


def concatenated(draw: st.DrawFn) -> tuple[Any, ...]:
    axis = draw(st.integers(-3, 2))
    return parts(draw, axis), scalar(axis)


def concatenated_v1(draw: st.DrawFn) -> tuple[Any, ...]:
    values, axis = concatenated(draw)
    return axis, values


def concat(values: tuple[Array, ...], axis: Array) -> Array:
    at = int(axis) % 3
    rows = [row for x in values for row in np.moveaxis(x, at, 0)]
    shape = list(values[0].shape)
    shape[at] = len(rows)
    return built(shape, lambda *p: rows[p[at]][p[:at] + p[at + 1 :]])


def packed(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = draw(st.lists(st.integers(0, 3), min_size=1, max_size=2))
    return (tuple(draw(numbers(shape)) for _ in range(draw(st.integers(1, 3)))),)


def unpacked(draw: st.DrawFn) -> tuple[Any, ...]:
    return (draw(numbers([draw(st.integers(0, 3)), 3])),)


def pack(values: tuple[Array, ...], last: bool) -> Array:
    def element(*place: int) -> Any:
        return values[place[-1]][place[:-1]] if last else values[place[0]][place[1:]]

    shape = values[0].shape
    count = (len(values),)
    return built(shape + count if last else count + shape, element)


def halves(draw: st.DrawFn) -> tuple[Any, ...]:
    axis = draw(st.integers(-2, 1))
    shape = [draw(st.integers(0, 3)), draw(st.integers(0, 3))]
    shape[axis] *= 2
    return scalar(axis), draw(numbers(shape))


def split(axis: Array, x: Array) -> tuple[Array, ...]:
    half = x.shape[int(axis)] // 2
    rows = list(np.moveaxis(x, int(axis), 0))
    empty = np.zeros((0, x.shape[1 - int(axis) % 2]))
    return tuple(
        np.moveaxis(np.array(part) if part else empty, 0, int(axis))
        for part in (rows[:half], rows[half:])
    )


def cut(draw: st.DrawFn) -> tuple[Any, ...]:
    sizes = [draw(st.integers(0, 3)) for _ in range(3)]
    axis = draw(st.integers(-2, 1))
    shape = [2, 2]
    shape[axis] = sum(sizes)
    if draw(st.booleans()):
        sizes[draw(st.integers(0, 2))] = -1
    return draw(numbers(shape)), ints(*sizes), scalar(axis)


def split_v(x: Array, sizes: Array, axis: Array) -> tuple[Array, ...]:
    lengths = sizes.tolist()
    total = x.shape[int(axis)]
    lengths = [total - sum(lengths) - 1 if n == -1 else n for n in lengths]
    ends = np.cumsum(lengths)
    return tuple(np.split(x, ends[:-1], int(axis)))


CASES = [
    OpCase("ConcatV2", drawn(concatenated), concat, differentiable=(0,)),
    OpCase("Concat", drawn(concatenated_v1), lambda a, xs: concat(xs, a), differentiable=(1,)),
    OpCase("Pack", drawn(packed), lambda xs: pack(xs, last=False), differentiable=(0,)),
    OpCase(
        "Pack",
        drawn(packed),
        lambda xs: pack(xs, last=True),
        attrs={"axis": -1},
        differentiable=(0,),
    ),
    OpCase(
        "Unpack",
        drawn(unpacked),
        lambda x: tuple(x[:, i] for i in range(3)),
        attrs={"axis": 1, "num": 3},
    ),
    OpCase("Split", drawn(halves), split, attrs={"num_split": 2}),
    OpCase("SplitV", drawn(cut), split_v, attrs={"num_split": 3}),
]
