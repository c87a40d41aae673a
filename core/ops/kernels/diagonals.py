"""Diagonals of matrices as rows of a narrower array, and back.

Row m of the diagonals k₀ to k₁ is diagonal k₁ - m. Shorter ones are aligned left or right in their
row: `align` says which for those on and above the main diagonal, then for those below, as in
"RIGHT_LEFT".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.ops.kernels.precision import Array


def band_limits(k: Array) -> tuple[int, int]:
    """(lowest, highest) diagonal.

    Raises:
        InvalidArgumentError: `k` is neither a scalar nor a pair in order.
    """
    ends = k.reshape(-1).tolist()
    if len(ends) not in {1, 2} or ends[0] > ends[-1]:
        raise InvalidArgumentError(f"k must be a number or a pair in order, got {ends}")
    return ends[0], ends[-1]


def longest(rows: int, columns: int, low: int, high: int) -> int:
    """The length of the longest diagonal from low to high of a matrix."""
    return min(rows + min(high, 0), columns - max(low, 0))


def check_limits(rows: int, columns: int, low: int, high: int) -> None:
    """Raise InvalidArgumentError unless the matrix has these diagonals; an empty one has only 0."""
    if any(k and not -rows < k < columns for k in (low, high)):
        raise InvalidArgumentError(
            f"k must be from {1 - rows} to {columns - 1} for a matrix of {rows} by {columns}, "
            f"got {[low, high]}"
        )


def _places(
    rows: int, columns: int, low: int, high: int, align: str
) -> Iterator[tuple[int, int, slice]]:
    """For each diagonal: its number, its row in the output, and its offset in that row."""
    width = longest(rows, columns, low, high)
    above, below = (part == "LEFT" for part in align.split("_"))
    for row, diagonal in enumerate(range(high, low - 1, -1)):
        length = max(longest(rows, columns, diagonal, diagonal), 0)
        left = (diagonal >= 0 and above) or (diagonal <= 0 and below)
        start = 0 if left else width - length
        yield diagonal, row, slice(start, start + length)


def _line(matrix: Array, diagonal: int) -> Array:
    """One diagonal as a view, writable if `matrix` is."""
    rows, columns = matrix.shape[-2:]
    length = max(longest(rows, columns, diagonal, diagonal), 0)
    if not length:
        return np.empty((*matrix.shape[:-2], 0), matrix.dtype)
    first = matrix[..., max(-diagonal, 0) :, max(diagonal, 0) :]
    strides = (*matrix.strides[:-2], matrix.strides[-2] + matrix.strides[-1])
    return np.lib.stride_tricks.as_strided(first, (*matrix.shape[:-2], length), strides)


def take_diagonals(matrix: Array, k: Array, padding: Array, align: str) -> Array:
    """[..., diagonals, longest]; [..., length] for a single one."""
    low, high = band_limits(k)
    rows, columns = matrix.shape[-2:]
    check_limits(rows, columns, low, high)
    if low == high:
        return _line(matrix, low).copy()
    width = longest(rows, columns, low, high)
    out = np.empty((*matrix.shape[:-2], high - low + 1, max(width, 0)), matrix.dtype)
    out[...] = padding
    for diagonal, row, place in _places(rows, columns, low, high, align):
        out[..., row, place] = _line(matrix, diagonal)
    return out


def put_diagonals(matrix: Array, diagonals: Array, k: Array, align: str) -> Array:
    """A copy of `matrix` with these diagonals."""
    low, high = band_limits(k)
    rows, columns = matrix.shape[-2:]
    check_limits(rows, columns, low, high)
    width = longest(rows, columns, low, high)
    count = () if low == high else (high - low + 1,)
    wanted = (*matrix.shape[:-2], *count, max(width, 0))
    if diagonals.shape != wanted:
        raise InvalidArgumentError(
            f"diagonal must have shape {list(wanted)}, got {list(diagonals.shape)}"
        )
    out = matrix.copy()
    _fill(out, diagonals, low, high, align)
    return out


def _fill(matrix: Array, diagonals: Array, low: int, high: int, align: str) -> None:
    """Write the diagonals; those that lie outside of the matrix have no elements."""
    if low == high:
        _line(matrix, low)[...] = diagonals
        return
    rows, columns = matrix.shape[-2:]
    for diagonal, row, place in _places(rows, columns, low, high, align):
        _line(matrix, diagonal)[...] = diagonals[..., row, place]


def matrix_size(width: int, low: int, high: int, rows: int, columns: int) -> tuple[int, int]:
    """The size of a matrix with these diagonals, the longest `width` long; -1 for the least.

    Raises:
        InvalidArgumentError: the sizes that were given do not fit.
    """
    least_rows, least_columns = width - min(high, 0), width + max(low, 0)
    if rows == columns == -1:
        rows = columns = max(least_rows, least_columns)
    elif rows == -1:
        rows = least_rows
    elif columns == -1:
        columns = least_columns
    if (
        rows < least_rows
        or columns < least_columns
        or (rows != least_rows and columns != least_columns)
    ):
        raise InvalidArgumentError(
            f"num_rows and num_cols must fit diagonals {low} to {high} of {width} values, at least "
            f"{least_rows} and {least_columns}, one of them exactly; got {rows} and {columns}"
        )
    return rows, columns


def matrix_of_diagonals(
    diagonals: Array, k: Array, rows: int, columns: int, padding: Array, align: str
) -> Array:
    """Matrices with these diagonals and `padding` elsewhere.

    As in TensorFlow, some of the diagonals may lie outside of the matrix, if not the longest.
    """
    low, high = band_limits(k)
    lead = diagonals.shape[:-1]
    if low != high:
        if diagonals.ndim < 2 or diagonals.shape[-2] != high - low + 1:
            raise InvalidArgumentError(
                f"diagonal must have {high - low + 1} rows for k = {[low, high]}, "
                f"got shape {list(diagonals.shape)}"
            )
        lead = diagonals.shape[:-2]
    size = matrix_size(diagonals.shape[-1], low, high, rows, columns)
    matrix = np.empty((*lead, *size), diagonals.dtype)
    matrix[...] = padding
    _fill(matrix, diagonals, low, high, align)
    return matrix
