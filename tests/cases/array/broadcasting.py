"""Cases of core/ops/array/broadcasting.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cases.array.shapes import Array, built, drawn, ints, numbers
from support.opcase import OpCase


def repeated(first: Array, second: Array) -> tuple[Array, Array]:
    """The axes in which the padded shape has size 1; none if the shapes are equal.

    TensorFlow also includes axes in which both shapes have size 1.
    """
    sizes = np.broadcast_shapes(tuple(first), tuple(second))
    found = []
    if list(first) == list(second):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    for shape in (first, second):
        lead = len(sizes) - len(shape)
        axes = [a for a in range(len(sizes)) if a < lead or shape[a - lead] == 1]
        found.append(np.array(axes, np.int64))
    return found[0], found[1]


SHAPES = hnp.mutually_broadcastable_shapes(num_shapes=2, min_side=1, max_dims=4).map(
    lambda drawn: tuple(np.array(shape, np.int32) for shape in drawn.input_shapes)
)


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


CASES = [
    OpCase("BroadcastTo", drawn(broadcast), broadcast_to),
    OpCase("BroadcastGradientArgs", SHAPES, repeated),
]
