"""Scales and zeros of groups of rows, for integers from 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array


def scale_and_zero(
    matrix: Array, bits: int, *, symmetric: bool = False, per_row: bool = True
) -> tuple[Array, Array]:
    """What maps the values of each row to the integers from 0 to 2**bits - 1.

    Args:
        matrix: float[rows, columns]
        bits: of an integer.
        symmetric: whether 0 is in the middle.
        per_row: whether each row has its own.

    Returns:
        The scale and the integer of 0, float32[rows, 1].
    """
    values = matrix if per_row else matrix.reshape(1, -1)
    # 0 is among what is mapped: its integer has to be one of them.
    low = np.minimum(values.min(axis=1, keepdims=True), 0)
    high = np.maximum(values.max(axis=1, keepdims=True), 0)
    if symmetric:
        high = np.maximum(-low, high)
        low = np.where(low < 0, -high, low)
    flat = low == high
    low, high = np.where(flat, low - 1, low), np.where(flat, high + 1, high)
    largest = 2**bits - 1
    scale = ((high - low) / largest).astype(np.float32)
    middle = np.full_like(scale, (largest + 1) / 2)
    zero = middle if symmetric else np.round(-low / scale).astype(np.float32)
    shape = (len(matrix), 1)
    return np.broadcast_to(scale, shape), np.broadcast_to(zero, shape)


def to_integers(values: Array, scale: Array, zero: Array, bits: int) -> Array:
    """The nearest integers, as floats."""
    return np.clip(np.round(values / scale + zero), 0, 2**bits - 1).astype(np.float32)
