"""Sums over the rows of a matrix.

NumPy calls its inner loop once per row, whose overhead dominates for short rows. BLAS multiplies by
a vector of ones instead, in the same order. Many rows are summed as fewer long ones, whose sums are
added: pairwise summation loses less precision.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pinnace.ops.kernels.precision import Array

# Rows up to which the plain order loses little.
FEW_ROWS = 4096
# Numbers of a row up to which rows are joined, and of the joined row: a total of this length stays
# in the L1 cache.
_SHORT, _LONG = 512, 4096


def sum_rows(x: Array) -> Array:
    """The sum over the first axis.

    Args:
        x: [rows, numbers], C-contiguous, of a float dtype that is wide enough to sum in.

    Returns:
        [numbers], dtype of x.
    """
    rows, numbers = x.shape
    if rows <= FEW_ROWS:
        return np.dot(ones(rows, x.dtype), x)  # type: ignore[no-any-return]
    if not 0 < numbers <= _SHORT:
        return np.add.reduce(x, axis=0)  # type: ignore[no-any-return]
    together = _LONG // numbers
    whole = rows // together * together
    long: Array = np.add.reduce(x[:whole].reshape(-1, together * numbers), axis=0)
    total: Array = np.add.reduce(long.reshape(together, numbers), axis=0)
    if whole < rows:
        total += np.add.reduce(x[whole:], axis=0)
    return total


@functools.lru_cache(maxsize=64)
def ones(count: int, dtype: Any) -> Array:
    """A read-only vector of ones."""
    return np.ones(count, dtype)
