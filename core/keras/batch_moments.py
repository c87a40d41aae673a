"""The mean and variance of a batch, optionally masked, or of the batches of all replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras import replicas
from pinnace.keras.dtype_policy import epsilon
from pinnace.ops.array import broadcasting, casting, constants, reshaping, selecting, shapes
from pinnace.ops.math import arithmetic, division, reduction
from pinnace.ops.nn import normalization

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


def batch_moments(
    x: Tensor,
    axes: Sequence[int],
    mask: Any = None,
    synchronized: bool = False,
    keepdims: bool = False,
) -> tuple[Tensor, Tensor]:
    """Mean and variance along axes.

    Args:
        x: [...], floating point.
        axes: the reduced axes.
        mask: [...] without the last axis: what is False does not count; the mask of one replica
            is not joined with that of others.
        synchronized: whether the values of all replicas count, where there are several.
        keepdims: whether the axes stay, with size 1; not of what a mask leaves.

    Returns:
        Two tensors: of one axis, or of the axes that are not among `axes`.
    """
    if mask is not None:
        return _masked(x, list(axes), mask)
    if synchronized and replicas.in_several():
        return _of_all_replicas(x, list(axes), keepdims)
    mean, variance = normalization.moments(x, list(axes), keepdims=keepdims)
    return mean, variance


def _masked(x: Tensor, axes: list[int], mask: Any) -> tuple[Tensor, Tensor]:
    seen = reshaping.expand_dims(casting.cast(mask, "bool"), -1)
    seen = broadcasting.broadcast_to(seen, shapes.shape(x))
    # Keras: epsilon() keeps an empty batch from dividing by zero.
    weight = reduction.reduce_sum(casting.cast(seen, x.dtype), axes, keepdims=True) + epsilon()
    zeros = constants.zeros_like(x)
    total = reduction.reduce_sum(selecting.where(seen, x, zeros), axes, keepdims=True)
    mean = total / weight
    squares = arithmetic.square(selecting.where(seen, x - mean, zeros))
    variance = reduction.reduce_sum(squares, axes, keepdims=True) / weight
    return reshaping.squeeze(mean, axes), reshaping.squeeze(variance, axes)


def _of_all_replicas(x: Tensor, axes: list[int], keepdims: bool) -> tuple[Tensor, Tensor]:
    found = [
        reduction.reduce_sum(one, axes, keepdims=keepdims)
        for one in (x, arithmetic.square(x), constants.ones_like(x))
    ]
    total, squares, count = replicas.summed(found)
    mean = division.divide_no_nan(total, count)
    mean_of_squares = division.divide_no_nan(squares, count)
    variance = arithmetic.maximum(mean_of_squares - arithmetic.square(mean), 0.0)
    return mean, variance
