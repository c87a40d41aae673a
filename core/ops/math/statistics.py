"""Statistics composed of reductions: variances, log-sum-exp, counts of zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import int64
from pinnace.ops.array import (
    casting,
    constants,
    identities,
    reshaping,
    selecting,
    shapes,
)
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.math import arithmetic, comparison, complexes, exponents, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike

__all__ = [
    "count_nonzero",
    "reduce_logsumexp",
    "reduce_std",
    "reduce_variance",
    "zero_fraction",
]


@takes_composites(ragged="reduction:reduce_variance")
def reduce_variance(
    input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean of |x - mean(x)|² over `axis`: the population's variance.

    Args:
        input_tensor: [...], a float or complex type.
        axis: an axis, several, or an integer tensor; negative ones count from the end, None is all.
        keepdims: reduced axes stay, with size 1.
        name: name of the node while tracing.

    Returns:
        [...] without the reduced axes, in a float type.

    Raises:
        TypeError: `input_tensor` is neither floating point nor complex.
    """
    x = convert_to_tensor(input_tensor)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise TypeError(
            f"reduce_variance: input_tensor must be floating point or complex, got {x.dtype.name}"
        )
    away = x - reduction.reduce_mean(x, axis, keepdims=True)
    if away.dtype.is_complex:
        squares = complexes.real(away * complexes.conj(away))
    else:
        squares = arithmetic.square(away)
    return reduction.reduce_mean(squares, axis, keepdims, name)


@takes_composites(ragged="reduction:reduce_std")
def reduce_std(
    input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """√variance over `axis`: the population's standard deviation.

    Args:
        input_tensor: [...], a float or complex type.
        axis: an axis, several, or an integer tensor; negative ones count from the end, None is all.
        keepdims: reduced axes stay, with size 1.
        name: name of the node while tracing.

    Returns:
        [...] without the reduced axes, in a float type.

    Raises:
        TypeError: `input_tensor` is neither floating point nor complex.
    """
    return exponents.sqrt(reduce_variance(input_tensor, axis, keepdims), name)


@takes_composites(ragged="reduction:reduce_logsumexp")
def reduce_logsumexp(
    input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """`log Σ exp(x)` over `axis`, without overflow.

    Args:
        input_tensor: [...], a float type.
        axis: an axis, several, or an integer tensor; negative ones count from the end, None is all.
        keepdims: reduced axes stay, with size 1.
        name: name of the node while tracing.

    Returns:
        [...] without the reduced axes, dtype of `input_tensor`; -inf where there is nothing.

    Raises:
        InvalidArgumentError: there is no such axis.
    """
    x = convert_to_tensor(input_tensor)
    largest = reduction.reduce_max(x, axis, keepdims=True)
    finite = comparison.is_finite(largest)
    shift = identities.stop_gradient(
        selecting.where(finite, largest, constants.zeros_like(largest))
    )
    total = exponents.log(reduction.reduce_sum(exponents.exp(x - shift), axis, keepdims))
    if not keepdims:
        shift = reshaping.reshape(shift, shapes.sizes(total))
    return arithmetic.add(total, shift, name)


def count_nonzero(
    input: TensorLike,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: Any = int64,
    name: str | None = None,
) -> Tensor:
    """The number of values over `axis` that are not zero (not empty, for strings).

    Args:
        input: [...], a number type, bool or string.
        axis: an axis, several, or an integer tensor; None is all.
        keepdims: reduced axes stay, with size 1.
        dtype: dtype of the result.
        name: name of the node while tracing.

    Returns:
        [...] without the reduced axes, dtype `dtype`.
    """
    x = convert_to_tensor(input)
    if x.dtype.is_bool:
        differs = x
    else:
        zero = b"" if x.dtype is dtypes.string else 0
        differs = comparison.not_equal(x, constants.constant(zero, x.dtype))
    total = reduction.reduce_sum(casting.cast(differs, int64), axis, bool(keepdims))
    return casting.cast(total, dtype, name)


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """The share of zeros in `value`, float32; NaN if it is empty.

    Args:
        value: [...], a number type.
        name: name of the node while tracing.

    Returns:
        [], float32.
    """
    x = convert_to_tensor(value)
    zeros = comparison.equal(x, constants.constant(0, x.dtype))
    return reduction.reduce_mean(casting.cast(zeros, dtypes.float32), name=name)
