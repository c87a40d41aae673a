"""Piecewise activations: shrinkage, thresholds, and sparse variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.symbolic_activations import of_symbols_too
from pinnace.ops.array import casting, constants, joining, reshaping, selecting, shapes, sorting
from pinnace.ops.math import (
    arithmetic,
    clipping,
    comparison,
    cumulation,
    exponents,
    polar,
    ranges,
    reduction,
    trigonometry,
)

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike


@of_symbols_too
def celu(x: Any, alpha: float = 1.0) -> Tensor:
    """x where positive, else alpha (exp(x / alpha) - 1).

    Args:
        x: [...], a float type.
        alpha: minus the limit at -∞.

    Returns:
        The shape and dtype of `x`.
    """
    x = convert_to_tensor(x)
    below = exponents.expm1(arithmetic.minimum(x, 0.0) / alpha)
    return arithmetic.maximum(x, 0.0) + alpha * below


@of_symbols_too
def glu(x: Any, axis: int = -1) -> Tensor:
    """The first half of an axis times the sigmoid of the second.

    Args:
        x: [..., 2 n, ...], a float type.
        axis: the axis that is halved.

    Returns:
        [..., n, ...], dtype of `x`.

    Raises:
        ValueError: the size of the axis is odd.
    """
    x = convert_to_tensor(x)
    size = x.shape[axis]
    if size is not None and size % 2:
        raise ValueError(f"glu: axis {axis} must have an even size, got shape {x.shape.text}")
    value, gate = joining.split(x, 2, axis)
    return value * exponents.sigmoid(gate)


@of_symbols_too
def hard_shrink(x: Any, threshold: float = 0.5) -> Tensor:
    """x where abs(x) is above the threshold, else 0.

    Args:
        x: [...], a float type.
        threshold: not negative.

    Returns:
        The shape and dtype of `x`.
    """
    x = convert_to_tensor(x)
    kept = comparison.greater(polar.abs(x), threshold)
    return selecting.where(kept, x, constants.zeros_like(x))


@of_symbols_too
def hard_tanh(x: Any) -> Tensor:
    """x clipped to [-1, 1]."""
    return clipping.clip_by_value(x, -1.0, 1.0)  # type: ignore[no-any-return]


@of_symbols_too
def soft_shrink(x: Any, threshold: float = 0.5) -> Tensor:
    """x moved towards 0 by the threshold, at most to 0.

    Args:
        x: [...], a float type.
        threshold: not negative.

    Returns:
        The shape and dtype of `x`.
    """
    x = convert_to_tensor(x)
    above, below = arithmetic.maximum(x - threshold, 0.0), arithmetic.minimum(x + threshold, 0.0)
    return above + below


@of_symbols_too
def sparse_plus(x: Any) -> Tensor:
    """0 below -1, x above 1, (x + 1)² / 4 between."""
    x = convert_to_tensor(x)
    bent = arithmetic.square(x + 1.0) * 0.25
    above = selecting.where(comparison.less(x, 1.0), bent, x)
    return selecting.where(comparison.less_equal(x, -1.0), constants.zeros_like(x), above)


@of_symbols_too
def sparse_sigmoid(x: Any) -> Tensor:
    """0 below -1, 1 above 1, (x + 1) / 2 between."""
    return clipping.clip_by_value((convert_to_tensor(x) + 1.0) * 0.5, 0.0, 1.0)  # type: ignore[no-any-return]


@of_symbols_too
def sparsemax(x: Any, axis: int = -1) -> Tensor:
    """The projection of x onto probabilities along an axis, many of which are 0.

    Args:
        x: [...], a float type.
        axis: the axis along which they add up to 1.

    Returns:
        The shape and dtype of `x`.

    Raises:
        ValueError: the rank of `x` is not known.

    Source:
        Martins and Astudillo 2016: max(x - τ, 0) with the τ for which they add up to 1.
    """
    x = convert_to_tensor(x)
    rank = x.shape.rank
    if rank is None:
        raise ValueError("sparsemax: x must have a known rank")
    at = axis % rank
    falling = sorting.sort(x, axis=at, direction="DESCENDING")
    sums = cumulation.cumsum(falling, at)
    count = ranges.range(1, shapes.shape(x)[at] + 1)
    count = reshaping.reshape(
        casting.cast(count, x.dtype), [-1, *(1 for _ in range(rank - at - 1))]
    )
    within = comparison.greater(falling - (sums - 1.0) / count, 0.0)
    many = reduction.reduce_sum(casting.cast(within, x.dtype), at, keepdims=True)
    total = selecting.where(within, falling, constants.zeros_like(falling))
    limit = (reduction.reduce_sum(total, at, keepdims=True) - 1.0) / many
    return arithmetic.maximum(x - limit, 0.0)


@of_symbols_too
def squareplus(x: TensorLike, b: float = 4) -> Tensor:
    """(x + sqrt(x² + b)) / 2: a smooth max(x, 0).

    Args:
        x: [...], a float type.
        b: how round the corner is; 0 is max(x, 0).

    Returns:
        The shape and dtype of `x`.
    """
    x = convert_to_tensor(x)
    return (x + exponents.sqrt(arithmetic.square(x) + float(b))) * 0.5


@of_symbols_too
def tanh_shrink(x: TensorLike) -> Tensor:
    """x - tanh(x)."""
    x = convert_to_tensor(x)
    return x - trigonometry.tanh(x)


@of_symbols_too
def threshold(x: Any, threshold: float, default_value: float) -> Tensor:
    """x where it is above the threshold, else another value.

    Args:
        x: [...], a float type.
        threshold: the value that `x` must exceed.
        default_value: the other value.

    Returns:
        The shape and dtype of `x`.
    """
    x = convert_to_tensor(x)
    other = constants.zeros_like(x) + default_value
    return selecting.where(comparison.greater(x, threshold), x, other)


FUNCTIONS = (
    *(celu, glu, hard_shrink, hard_tanh, soft_shrink, sparse_plus, sparse_sigmoid, sparsemax),
    *(squareplus, tanh_shrink, threshold),
)
