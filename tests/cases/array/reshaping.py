"""Cases of core/ops/array/reshaping.py."""

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cases.array.shapes import SHAPES, Array, built, drawn, ints, numbers, scalar
from pinnace.framework import dtypes
from support.opcase import OpCase


def reshaped(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = draw(SHAPES)
    target = list(draw(st.permutations(shape)))
    if len(target) > 1 and draw(st.booleans()):
        target[:2] = [target[0] * target[1]]
    if target and draw(st.booleans()):
        at = draw(st.integers(0, len(target) - 1))
        if math.prod(target[:at] + target[at + 1 :]):
            target[at] = -1
    return draw(numbers(shape)), ints(*target)


def reshape(x: Array, shape: Array) -> Array:
    flat = list(x.reshape(-1))
    known = math.prod(n for n in shape.tolist() if n >= 0)
    sizes = [len(flat) // known if n < 0 else n for n in shape.tolist()]
    steps = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    return built(sizes, lambda *p: flat[sum(i * s for i, s in zip(p, steps, strict=True))])


def expanded(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = draw(SHAPES)
    axis = draw(st.integers(-len(shape) - 1, len(shape)))
    return draw(numbers(shape)), scalar(axis)


def permuted(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = draw(SHAPES)
    perm = draw(st.permutations(range(len(shape))))
    # Each axis may be named from the end, too.
    named = [axis - len(shape) if draw(st.booleans()) else axis for axis in perm]
    return draw(numbers(shape)), ints(*named)


def complex_permuted(draw: st.DrawFn) -> tuple[Any, ...]:
    x, perm = permuted(draw)
    return x + 1j * draw(numbers(x.shape)), perm


def transpose(x: Array, perm: Array) -> Array:
    places = [axis + x.ndim if axis < 0 else axis for axis in perm.tolist()]
    sizes = [x.shape[axis] for axis in places]
    return built(sizes, lambda *p: x[tuple(p[places.index(i)] for i in range(x.ndim))], x.dtype)


def broadcast(draw: st.DrawFn) -> tuple[Any, ...]:
    drawn_shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=1, max_dims=3))
    return draw(numbers(drawn_shapes.input_shapes[0])), ints(*_longer(draw, drawn_shapes))


def _longer(draw: st.DrawFn, shapes: Any) -> list[int]:
    (shape,) = shapes.input_shapes
    lead = draw(st.lists(st.integers(0, 3), max_size=2))
    return [*lead, *(draw(st.integers(0, 3)) if n == 1 else n for n in shape)]


def broadcast_to(x: Array, shape: Array) -> Array:
    def element(*place: int) -> Any:
        own = place[len(place) - x.ndim :]
        return x[tuple(0 if n == 1 else i for i, n in zip(own, x.shape, strict=True))]

    return built(shape.tolist(), element)


def with_ones(draw: st.DrawFn) -> tuple[Any, ...]:
    a, b = draw(st.integers(0, 3)), draw(st.integers(2, 3))
    return (draw(numbers((1, a if a != 1 else 2, 1, b))),)


CASES = [
    OpCase("Reshape", drawn(reshaped), reshape),
    OpCase("ExpandDims", drawn(expanded), lambda x, dim: np.expand_dims(x, int(dim))),
    OpCase("Squeeze", drawn(with_ones), lambda x: x[0, :, 0, :]),
    OpCase("Squeeze", drawn(with_ones), lambda x: x[0, ...], attrs={"squeeze_dims": (-4,)}),
    OpCase("Transpose", drawn(permuted), transpose),
    OpCase(
        "ConjugateTranspose",
        drawn(complex_permuted),
        lambda x, perm: transpose(x.real - 1j * x.imag, perm),
        dtypes=(dtypes.float64, dtypes.float32),
    ),
    OpCase("BroadcastTo", drawn(broadcast), broadcast_to),
]
