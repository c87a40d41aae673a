"""Sums over the rows of a matrix, and other reductions of rows or columns that are short.

NumPy calls its inner loop once per row, whose overhead dominates for short rows. BLAS multiplies by
a vector of ones instead, in the same order. Many rows are summed as fewer long ones, whose sums are
added: pairwise summation loses less precision.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.ops.kernels.blas import matmul

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.ops.kernels.precision import Array

# Rows up to which the plain order loses little.
FEW_ROWS = 4096
# Numbers of a row up to which BLAS sums rows faster, and its order loses little.
SHORT_ROW = 256
# Numbers of a row up to which rows are joined, and of the joined row: a total of this length stays
# in the L1 cache.
_SHORT, _LONG = 512, 4096
# Numbers of a row up to which a pass per column is faster than a loop per row.
_FEW = 7


def sum_rows(x: Array) -> Array:
    """The sum over the first axis.

    Args:
        x: [rows, numbers], C-contiguous, of a float dtype that is wide enough to sum in.

    Returns:
        [numbers], dtype of x.
    """
    if len(x) <= FEW_ROWS:
        return np.dot(ones(len(x), x.dtype), x)  # type: ignore[no-any-return]
    return reduce_rows(np.add, x)


def sum_columns(x: Array) -> Array:
    """The sum over the last axis.

    Args:
        x: [rows, numbers], C-contiguous, float32 or float64; at most `SHORT_ROW` numbers.

    Returns:
        [rows], dtype of x.
    """
    return matmul(x, ones(x.shape[1], x.dtype)[:, None])[:, 0]


def reduce_rows(ufunc: np.ufunc, x: Array) -> Array:
    """The reduction of the first axis; of any number of rows, unless they are empty.

    Args:
        ufunc: an associative one.
        x: [rows, numbers], C-contiguous.

    Returns:
        [numbers], dtype of x.
    """
    rows, numbers = x.shape
    together = _LONG // numbers if 0 < numbers <= _SHORT else 1
    whole = rows // together * together
    if together == 1 or whole == 0:
        return ufunc.reduce(x, axis=0)  # type: ignore[no-any-return]
    long: Array = ufunc.reduce(x[:whole].reshape(-1, together * numbers), axis=0)
    total: Array = ufunc.reduce(long.reshape(together, numbers), axis=0)
    return ufunc(total, ufunc.reduce(x[whole:], axis=0)) if whole < rows else total


def is_short(x: Array, axes: Sequence[int]) -> bool:
    """Whether the last axis alone is reduced, and NumPy would start a loop for a few numbers."""
    is_last = tuple(axes) == (x.ndim - 1,) and x.size >= _LONG
    return is_last and 1 < x.shape[-1] <= _FEW


def reduce_short(ufunc: np.ufunc, x: Array, keep: bool) -> Array:
    """The reduction of the last axis, which is short: a pass per column, in the same order.

    Args:
        ufunc: `np.add` or another one of two arguments.
        x: [..., numbers]; two numbers or more.
        keep: whether the axis stays, with size 1.
    """
    total: Array = ufunc(x[..., 0], x[..., 1])
    for place in range(2, x.shape[-1]):
        ufunc(total, x[..., place], out=total)
    return total[..., None] if keep else total


@functools.lru_cache(maxsize=64)
def ones(count: int, dtype: Any) -> Array:
    """A read-only vector of ones."""
    return np.ones(count, dtype)
