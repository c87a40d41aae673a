"""Checks and conversions of row splits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array


def check_splits(who: str, nested: Sequence[Array], values: int | None) -> None:
    """Check that row splits begin at 0, never decrease, and end where the next level does.

    Args:
        who: the op.
        nested: row splits from the outermost.
        values: rows of the flat values; None leaves the last level open.

    Raises:
        InvalidArgumentError: the splits violate one of these rules.
    """
    for level, splits in enumerate(nested):
        if splits.ndim != 1 or not len(splits):
            raise InvalidArgumentError(
                f"{who}: row splits must be a vector of at least one element, got shape "
                f"{list(splits.shape)}"
            )
        if splits[0] != 0:
            raise InvalidArgumentError(f"{who}: row splits must begin with 0, got {splits[0]}")
        if (splits[1:] < splits[:-1]).any():
            raise InvalidArgumentError(f"{who}: row splits must not decrease, got {splits}")
        below = len(nested[level + 1]) - 1 if level + 1 < len(nested) else values
        if below is not None and splits[-1] != below:
            raise InvalidArgumentError(
                f"{who}: row splits must end with the number of rows below, {below}, got "
                f"{splits[-1]}"
            )


def spans(starts: Array, lengths: Array) -> Array:
    """Consecutive numbers from each start, as many as its length, concatenated."""
    total = int(lengths.sum())
    if not total:
        return np.zeros(0, np.int64)
    before = np.cumsum(lengths) - lengths
    found: Array = np.arange(total) + np.repeat(starts - before, lengths)
    return found


def splits_of(lengths: Array, dtype: np.dtype[Any] | type[Any]) -> Array:
    """The row splits for these row lengths."""
    out = np.zeros(len(lengths) + 1, dtype)
    np.cumsum(lengths, out=out[1:])
    return out
