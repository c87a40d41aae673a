"""One-hot encoding and normalization of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import as_dtype
from pinnace.framework.tensor import Tensor
from pinnace.keras.dtype_policy import floatx
from pinnace.ops.array import casting, indicators, reshaping

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array


def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """Class indices as one-hot rows: [...] → [..., num_classes].

    Args:
        x: integers; a last axis of size 1 is dropped.
        num_classes: the largest number plus 1 if None.

    Returns:
        float64 of NumPy; for a tensor, a tensor of the default float dtype.

    Raises:
        ValueError: a number that is negative or too large.
    """
    if isinstance(x, Tensor):
        rank = len(x.shape)
        flat = reshaping.squeeze(x, [-1]) if rank > 1 and x.shape[-1] == 1 else x
        count = num_classes or int(np.asarray(x).max(initial=-1)) + 1
        numbers = casting.cast(flat, "int64")
        return indicators.one_hot(numbers, count, dtype=as_dtype(floatx()))
    given = np.asarray(x).astype(np.int64)
    if given.ndim > 1 and given.shape[-1] == 1:
        given = given[..., 0]
    count = num_classes or int(given.max(initial=-1)) + 1
    if given.size and (given.min() < 0 or given.max() >= count):
        raise ValueError(
            f"to_categorical: numbers must be from 0 to {count - 1}, "
            f"got {given.min()} to {given.max()}"
        )
    rows: Array = np.eye(count)[given]
    return rows


def normalize(x: Any, axis: int = -1, order: int = 2) -> Any:
    """`x` divided by its norms along an axis; unchanged where the norm is 0.

    Args:
        x: an array; anything else, as a list or a tensor, gives a tensor.
        axis: axis of the vectors.
        order: order of the norm.
    """
    if not isinstance(x, np.ndarray):
        from pinnace.keras import ops  # late: not needed for arrays

        return ops.normalize(x, axis, order)
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    scaled: Array = x / np.expand_dims(norms, axis)
    return scaled
