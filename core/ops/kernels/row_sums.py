"""Sums over the rows of a matrix.

NumPy adds one row to the total in a call of its inner loop, which few numbers do not pay for. BLAS
multiplies with ones instead, in the same plain order. Where there are many rows, some are taken as
a long one, and what those sum to is added up again: a sum of sums loses less than one of many
numbers in a row.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pinnace.ops.kernels.precision import Array

# Rows up to which the plain order loses little.
FEW_ROWS = 4096
# Numbers of a row up to which others are put beside it, and of the long row that they make: a
# total of this length stays in the first-level cache.
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
    """So many ones, not to be written to."""
    return np.ones(count, dtype)
