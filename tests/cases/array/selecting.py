"""Cases of core/ops/array/selecting.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cases.array.shapes import ARRAYS, SHAPES, Array, built, drawn, numbers
from support.opcase import OpCase


def three(draw: st.DrawFn) -> tuple[Any, ...]:
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3)).input_shapes
    condition = draw(hnp.arrays(bool, shapes[0]))
    return condition, draw(numbers(shapes[1])), draw(numbers(shapes[2]))


def rows(draw: st.DrawFn) -> tuple[Any, ...]:
    """A condition for each row, for each element, or for all."""
    shape = draw(SHAPES)
    chosen = draw(st.sampled_from([(), shape[:1], shape]))
    return draw(hnp.arrays(bool, chosen)), draw(numbers(shape)), draw(numbers(shape))


def select(condition: Array, x: Array, y: Array) -> Array:
    rank = condition.ndim
    return built(x.shape, lambda *p: (x if condition[p[:rank]] else y)[p])


def select_v2(condition: Array, x: Array, y: Array) -> Array:
    condition, x, y = np.broadcast_arrays(condition, x, y)
    return select(condition, x, y)


def where(x: Array) -> Array:
    places = [place for place in np.ndindex(*x.shape) if x[place]]
    return np.array(places, np.int64).reshape(len(places), x.ndim)


CASES = [
    OpCase("SelectV2", drawn(three), select_v2),
    OpCase("Select", drawn(rows), select),
    OpCase("Where", ARRAYS, where),
    OpCase("Where", SHAPES.flatmap(lambda s: st.tuples(hnp.arrays(bool, s))), where),
]
