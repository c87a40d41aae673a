"""Normalization: FusedBatchNorm, LRN, moments, and functions composed of them."""

import math
from typing import Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import bfloat16, float16, float32
from pinnace.framework.no_effect import ignored
from pinnace.framework.tensor import Tensor, TensorLike
from pinnace.ops.array import casting, constants, gathering, reshaping, shapes
from pinnace.ops.math import arithmetic, division, exponents, polar, reduction
from pinnace.ops.nn.local_response import local_response_normalization

__all__ = [
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "l2_normalize",
    "lrn",
    "moments",
    "normalize_moments",
    "sufficient_statistics",
    "weighted_moments",
]


def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: TensorLike,
    name: str | None = None,
) -> Tensor:
    """scale (x - mean) / sqrt(variance + variance_epsilon) + offset.

    Args:
        x: any shape, any float dtype.
        mean: broadcastable to x, as are the following.
        variance: not negative.
        offset: None for 0.
        scale: None for 1.
        variance_epsilon: a small number.
        name: name of the node while tracing.

    Source:
        Ioffe and Szegedy, 2015; TensorFlow `tf.nn.batch_normalization`.
    """
    x = convert_to_tensor(x)
    mean = convert_to_tensor(mean, dtype_hint=x.dtype)
    variance = convert_to_tensor(variance, dtype_hint=x.dtype)
    factor = exponents.rsqrt(variance + variance_epsilon)
    if scale is not None:
        factor = factor * scale
    # Combine mean and offset into one number: two passes over x instead of four.
    shift = -mean * factor if offset is None else offset - mean * factor
    return arithmetic.add(
        x * casting.cast(factor, x.dtype), casting.cast(convert_to_tensor(shift), x.dtype), name
    )


def batch_norm_with_global_normalization(
    input: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    beta: TensorLike,
    gamma: TensorLike,
    variance_epsilon: TensorLike,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Tensor:
    """`batch_normalization` under older names; `gamma` is used if `scale_after_normalization`.

    Args:
        input: [batch, height, width, channels], a float type.
        mean: [channels], dtype of `input`, as are the next three.
        variance: [channels].
        beta: [channels], added.
        gamma: [channels], multiplied with.
        variance_epsilon: added to the variance.
        scale_after_normalization: whether `gamma` is used.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `input`.
    """
    scale = gamma if scale_after_normalization else None
    return batch_normalization(input, mean, variance, beta, scale, variance_epsilon, name)


def moments(
    x: TensorLike,
    axes: Any,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,  # noqa: ARG001 (of a scope, which has no node of its own)
) -> tuple[Tensor, Tensor]:
    """Mean and variance of x over `axes`.

    Args:
        x: [...], any float dtype; 16-bit floats are computed with in float32.
        axes: the axes that are reduced.
        shift: ignored.
        keepdims: reduced axes stay, with size 1.
        name: ignored.

    Returns:
        Both [...] without the reduced axes, dtype of x.
    """
    ignored("moments", "the mean is found first", shift=shift)
    x = convert_to_tensor(x)
    wide = casting.cast(x, float32) if x.dtype in {float16, bfloat16} else x
    mean = reduction.reduce_mean(wide, axes, keepdims=True)
    # TensorFlow stops the gradient at this mean, which is correct for first derivatives only.
    squares = arithmetic.squared_difference(wide, mean)
    variance = reduction.reduce_mean(squares, axes, keepdims=True)
    if not keepdims:
        mean, variance = _squeezed(mean, axes), _squeezed(variance, axes)
    if wide is x:
        return mean, variance
    return casting.cast(mean, x.dtype), casting.cast(variance, x.dtype)


def _squeezed(x: Tensor, axes: Any) -> Tensor:
    if isinstance(axes, Tensor):
        # The axes have size 1 now: a sum over them only takes them away.
        return reduction.reduce_sum(x, axes)
    return reshaping.squeeze(x, [axes] if isinstance(axes, int) else list(axes))


def sufficient_statistics(
    x: TensorLike,
    axes: Any,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,  # noqa: ARG001
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The count, sum and sum of squares of x - shift over `axes`, and `shift`.

    Args:
        x: [...], a float type.
        axes: an axis, or several.
        shift: subtracted first, for numbers far from 0; broadcastable to `x`, or None.
        keepdims: reduced axes stay, with size 1.
        name: name of the node while tracing.

    Returns:
        The count [], both sums [...] without `axes`, dtype of `x`; and `shift` as it was given.
    """
    x = convert_to_tensor(x)
    reduced = [axes] if isinstance(axes, int) else list(axes)
    sizes = [x.shape[axis] if x.shape.rank is not None else None for axis in reduced]
    known = [size for size in sizes if size is not None]
    if len(known) == len(sizes):
        count = constants.constant(math.prod(known), x.dtype)
    else:
        found = gathering.gather(shapes.shape(x), [axis % len(x.shape) for axis in reduced])
        count = casting.cast(reduction.reduce_prod(found), x.dtype)
    if shift is None:
        shifted, squares = x, arithmetic.square(x)
    else:
        shift = convert_to_tensor(shift, dtype_hint=x.dtype)
        shifted, squares = x - shift, arithmetic.squared_difference(x, shift)
    total = reduction.reduce_sum(shifted, axes, keepdims=keepdims)
    return count, total, reduction.reduce_sum(squares, axes, keepdims=keepdims), shift


def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike | None,
    name: str | None = None,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    """Mean and variance from `sufficient_statistics`.

    Args:
        counts: [], the number of values, as are the next two from `sufficient_statistics`.
        mean_ss: [...], the sum.
        variance_ss: [...], the sum of squares.
        shift: the subtracted value; None for 0.
        name: name of the node while tracing.

    Returns:
        Two tensors of the shape and dtype of `mean_ss`.
    """
    divisor = arithmetic.reciprocal(counts)
    shifted = arithmetic.multiply(mean_ss, divisor)
    mean = shifted if shift is None else shifted + shift
    variance = arithmetic.multiply(variance_ss, divisor) - arithmetic.square(shifted)
    return mean, variance


def weighted_moments(
    x: TensorLike,
    axes: Any,
    frequency_weights: TensorLike,
    keepdims: bool = False,
    name: str | None = None,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    """The mean and variance of x over `axes`, with elements counted `frequency_weights` times.

    Args:
        x: [...], any float dtype.
        axes: the axes that are reduced.
        frequency_weights: broadcastable to x.
        keepdims: reduced axes stay, with size 1.
        name: ignored.
    """
    x = convert_to_tensor(x)
    weights = convert_to_tensor(frequency_weights, dtype_hint=x.dtype)
    wide = casting.cast(x, float32) if x.dtype in {float16, bfloat16} else x
    weights = casting.cast(weights, wide.dtype)
    # Weights are broadcast to all elements, since they may lack the reduced axes.
    every = weights + constants.zeros_like(wide)
    total = reduction.reduce_sum(every, axes, keepdims=True)
    mean = division.divide_no_nan(reduction.reduce_sum(every * wide, axes, keepdims=True), total)
    squares = arithmetic.squared_difference(wide, mean)
    variance = division.divide_no_nan(
        reduction.reduce_sum(every * squares, axes, keepdims=True), total
    )
    if not keepdims:
        mean, variance = _squeezed(mean, axes), _squeezed(variance, axes)
    if wide is x:
        return mean, variance
    return casting.cast(mean, x.dtype), casting.cast(variance, x.dtype)


def l2_normalize(
    x: TensorLike,
    axis: Any = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: Any = None,
) -> Tensor:
    """x / sqrt(max(sum(x²), epsilon)), with the sum over `axis`.

    Args:
        x: [...], any float or complex dtype.
        axis: the axes of a vector of length 1; all of them if None.
        epsilon: least square of a length.
        name: name of the node while tracing.
        dim: older name of `axis`.
    """
    axis = dim if axis is None else axis
    x = convert_to_tensor(x)
    if x.dtype.is_complex:
        modulus = polar.abs(x)
        total = reduction.reduce_sum(arithmetic.square(modulus), axis, keepdims=True)
        factor = exponents.rsqrt(arithmetic.maximum(total, epsilon))
        return arithmetic.multiply(x, casting.cast(factor, x.dtype), name)
    total = reduction.reduce_sum(arithmetic.square(x), axis, keepdims=True)
    return arithmetic.multiply(x, exponents.rsqrt(arithmetic.maximum(total, epsilon)), name)


lrn = local_response_normalization
