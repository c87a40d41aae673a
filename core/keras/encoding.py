"""Numbers as rows: one-hot encoding, normalising."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.tensor import Operands

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array


def to_categorical(x: Any, num_classes: int | None = None) -> Array:
    """Class numbers as one-hot rows: [...] → [..., num_classes].

    Args:
        x: integers; a last axis of size 1 is dropped.
        num_classes: the largest number plus 1 if None.

    Raises:
        ValueError: a number that is negative or too large.
    """
    given = np.asarray(x).astype(np.int64)
    if given.ndim > 1 and given.shape[-1] == 1:
        given = given[..., 0]
    count = int(given.max(initial=-1)) + 1 if num_classes is None else num_classes
    if given.size and (given.min() < 0 or given.max() >= count):
        raise ValueError(
            f"to_categorical: numbers must be from 0 to {count - 1}, "
            f"got {given.min()} to {given.max()}"
        )
    rows: Array = np.eye(count, dtype=np.float32)[given]
    return rows


def normalize(x: Any, axis: int = -1, order: int = 2) -> Any:
    """`x` divided by its norms along an axis; where the norm is 0, x.

    Args:
        x: an array; of a tensor the result is one.
        axis: of the vectors.
        order: of the norm.
    """
    if isinstance(x, Operands):
        from pinnace.keras.ops import networks  # few programs have tensors to normalise

        return networks.normalize(x, axis, order)
    array = np.asarray(x)
    norms = np.atleast_1d(np.linalg.norm(array, order, axis))
    norms[norms == 0] = 1
    scaled: Array = array / np.expand_dims(norms, axis)
    return scaled
