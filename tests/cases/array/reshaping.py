"""Cases of core/ops/array/reshaping.py."""

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.array.shapes import SHAPES, Array, built, drawn, ints, numbers, scalar
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


def with_ones(draw: st.DrawFn) -> tuple[Any, ...]:
    a, b = draw(st.integers(0, 3)), draw(st.integers(2, 3))
    return (draw(numbers((1, a if a != 1 else 2, 1, b))),)


CASES = [
    OpCase("Reshape", drawn(reshaped), reshape),
    OpCase("ExpandDims", drawn(expanded), lambda x, dim: np.expand_dims(x, int(dim))),
    OpCase("Squeeze", drawn(with_ones), lambda x: x[0, :, 0, :]),
    OpCase("Squeeze", drawn(with_ones), lambda x: x[0, ...], attrs={"squeeze_dims": (-4,)}),
]
