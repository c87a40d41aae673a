"""Cases of core/ops/nn/morphology.py: every window separately."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from support.drawing import random_arrays
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]
# Strides of 2 down and 1 across, a row rate of 2.
STRIDES, RATES = (1, 2, 1, 1), (1, 2, 1, 1)
ATTRS = {"strides": STRIDES, "rates": RATES, "padding": "SAME"}


def distinct(rng: np.random.Generator, *shape: int) -> Array:
    """Distinct multiples of 1/4, which are exact in every dtype."""
    return rng.permutation(int(np.prod(shape))).reshape(shape) / 4.0


def pictures(rng: np.random.Generator) -> tuple[Array, Array]:
    # The filter's entries are between those of the image: no two sums are equal.
    offsets = rng.permutation(4).reshape(2, 2, 1) / 64.0
    return distinct(rng, 1, 5, 4, 1), offsets


def best(x: Array, filters: Array) -> dict[tuple[int, ...], tuple[Any, ...]]:
    """The greatest sum of each window, and its position in the image and in the filter."""
    found: dict[tuple[int, ...], tuple[Any, ...]] = {}
    height, width = x.shape[1:3]
    rows, columns = -(-height // 2), width
    above = max((rows - 1) * 2 + 3 - height, 0) // 2
    for row in range(rows):
        for column in range(columns):
            sums = []
            for i in range(2):
                for j in range(2):
                    # With a filter of width two, one column after the image is padding.
                    at = row * 2 - above + 2 * i, column + j
                    if 0 <= at[0] < height and at[1] < width:
                        sums.append((x[0, at[0], at[1], 0] + filters[i, j, 0], at, (i, j)))
            found[row, column] = max(sums)
    return found


def dilated(x: Array, filters: Array) -> Array:
    found = best(x, filters)
    y = np.zeros((1, -(-x.shape[1] // 2), x.shape[2], 1))
    for (row, column), (value, _, _) in found.items():
        y[0, row, column, 0] = value
    return y


def to_picture(x: Array, filters: Array, dy: Array) -> Array:
    dx = np.zeros_like(x)
    for (row, column), (_, at, _) in best(x, filters).items():
        dx[0, at[0], at[1], 0] += dy[0, row, column, 0]
    return dx


def to_filter(x: Array, filters: Array, dy: Array) -> Array:
    dfilters = np.zeros_like(filters)
    for (row, column), (_, _, at) in best(x, filters).items():
        dfilters[at[0], at[1], 0] += dy[0, row, column, 0]
    return dfilters


def with_gradient(rng: np.random.Generator) -> tuple[Array, ...]:
    return (*pictures(rng), rng.integers(-4, 5, (1, 3, 4, 1)).astype(np.float64))


NARROW: dict[str, Any] = {"slack": 0, "ulps": 2}
DISTINCT: st.SearchStrategy[Any] = random_arrays(pictures)
GRADIENTS = random_arrays(with_gradient)
CASES = [
    OpCase("Dilation2D", DISTINCT, dilated, attrs=ATTRS, **NARROW),
    OpCase("Dilation2DBackpropInput", GRADIENTS, to_picture, attrs=ATTRS, **NARROW),
    OpCase("Dilation2DBackpropFilter", GRADIENTS, to_filter, attrs=ATTRS, **NARROW),
]
