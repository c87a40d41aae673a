"""Cases of core/ops/math/broadcasting.py."""

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis.extra import numpy as hnp

from support.opcase import OpCase

Array = npt.NDArray[Any]


def repeated(first: Array, second: Array) -> tuple[Array, Array]:
    """The axes in which the padded shape has size 1, none if the shapes are the same.

    TensorFlow names also those in which both have it.
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

CASES = [OpCase("BroadcastGradientArgs", SHAPES, repeated)]
