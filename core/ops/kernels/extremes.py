"""Maximum and minimum along adjacent axes, by machine code.

NumPy calls a loop for each line of numbers, whose overhead exceeds the comparisons.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.ops.kernels import compiled, image_shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.ops.kernels.precision import Array

# The shortest line that fills vectors, and the smallest array for which it matters.
SHORTEST, _FEWEST = 8, 1 << 12


class Lines(NamedTuple):
    """An array's shape as [outside, along, inside]; the middle axis is reduced."""

    outside: int
    along: int
    inside: int


@functools.lru_cache(maxsize=256)
def lines_of(shape: tuple[int, ...], axes: Sequence[int]) -> Lines | None:
    """The layout of the axes in the shape; None if others are in between, or there is nothing.

    Args:
        shape: shape of the reduced array.
        axes: the reduced axes, counted from 0.
    """
    # Axes of size 1 may be counted in either way.
    reduced = sorted({axis for axis in axes if shape[axis] > 1})
    if not reduced or 0 in shape:
        return None
    first, end = reduced[0], reduced[-1] + 1
    if any(shape[axis] > 1 and axis not in reduced for axis in range(first, end)):
        return None
    return Lines(math.prod(shape[:first]), math.prod(shape[first:end]), math.prod(shape[end:]))


def reduce(ufunc: np.ufunc, x: Array, axes: Sequence[int], keep: bool) -> Array:
    """The maximum or minimum along axes.

    Args:
        ufunc: `np.maximum` or `np.minimum`.
        x: [...], not empty.
        axes: the reduced axes, counted from 0.
        keep: whether they stay, with size 1.

    Returns:
        [...] without these axes, dtype of x. A NaN counts as both extremes.
    """
    lines = _lines_of(x, tuple(axes))
    if lines is None:
        return ufunc.reduce(x, axis=axes, keepdims=keep)  # type: ignore[no-any-return]
    kernel = compiled.made("extremes")
    if kernel is None:
        return ufunc.reduce(x, axis=axes, keepdims=keep)  # type: ignore[no-any-return]
    outside, along, inside = lines
    y, numbers = np.empty(outside * inside, np.float32), x.reshape(-1)
    given = (along * inside, inside, int(ufunc is np.maximum), numbers, y)
    image_shares.share_calls(kernel, outside, x.size, given)
    if keep:
        return y.reshape([1 if axis in axes else size for axis, size in enumerate(x.shape)])
    return y.reshape([size for axis, size in enumerate(x.shape) if axis not in axes])


def _lines_of(x: Array, axes: tuple[int, ...]) -> Lines | None:
    """The layout in which compiled code reads an array; None if NumPy is as fast."""
    if x.dtype != np.float32 or x.size < _FEWEST or not image_shares.readable(x):
        return None
    lines = lines_of(x.shape, axes)
    return None if lines is None or lines.inside < SHORTEST else lines
