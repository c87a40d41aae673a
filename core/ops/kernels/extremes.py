"""Maximum and minimum along adjacent axes, by machine code.

NumPy calls a loop for each line of numbers, whose overhead exceeds the comparisons.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.ops.kernels import compiled, image_shares
from pinnace.ops.kernels.row_sums import is_short, reduce_rows, reduce_short

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
    if is_short(x, axes):
        return reduce_short(ufunc, x, keep)
    lines = lines_of(x.shape, tuple(axes)) if x.size >= _FEWEST and x.flags.c_contiguous else None
    if lines is None:
        return ufunc.reduce(x, axis=axes, keepdims=keep)  # type: ignore[no-any-return]
    outside, along, inside = lines
    kernel = compiled.made("extremes") if inside >= SHORTEST and _is_readable(x) else None
    if kernel is not None:
        y, numbers = np.empty(outside * inside, np.float32), x.reshape(-1)
        given = (along * inside, inside, int(ufunc is np.maximum), numbers, y)
        image_shares.share_calls(kernel, outside, x.size, given)
    elif 1 < inside < SHORTEST and along >= _FEWEST:
        y = np.stack([reduce_rows(ufunc, block) for block in x.reshape(lines)])
    else:
        return ufunc.reduce(x, axis=axes, keepdims=keep)  # type: ignore[no-any-return]
    if keep:
        return y.reshape([1 if axis in axes else size for axis, size in enumerate(x.shape)])
    return y.reshape([size for axis, size in enumerate(x.shape) if axis not in axes])


def _is_readable(x: Array) -> bool:
    """Whether compiled code can read an array."""
    return x.dtype == np.float32 and image_shares.readable(x)
