"""Sums, means and extremes over axes, by default over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.tensor import Operands, Tensor, TensorLike
from pinnace.numpy_names import elementwise
from pinnace.numpy_names.promotion import (
    PREFERENCES,
    asked_type,
    known_rank,
    made_array,
    result_type,
)
from pinnace.ops.array import casting, constants, reshaping, selecting, shapes
from pinnace.ops.math import (
    arithmetic,
    complexes,
    cumulation,
    division,
    extremes,
    reduction,
    statistics,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def _reduced(
    function: Callable[..., Tensor], x: Tensor, axis: Any, keepdims: bool | None
) -> Tensor:
    if isinstance(axis, Operands) and axis.dtype not in dtypes.INDEX:
        axis = casting.cast(axis, dtypes.int64)
    return function(x, axis=axis, keepdims=bool(keepdims))


def _total(
    of_numbers: Callable[..., Tensor],
    of_bools: Callable[..., Tensor],
    a: TensorLike,
    axis: Any,
    dtype: Any,
    keepdims: bool | None,
) -> Tensor:
    """A sum or product; small integers and bools become NumPy's 64-bit integers."""
    kind = asked_type(dtype)
    x = made_array(a, kind)
    if kind is dtypes.bool:
        return _reduced(of_bools, x, axis, keepdims)
    if kind is None and (x.dtype.is_bool or x.dtype.is_integer):
        x = _widened(x)
    return _reduced(of_numbers, x, axis, keepdims)


def _widened(x: Tensor) -> Tensor:
    """Integers and bools in NumPy's dtype of sums; 32 bits wide under weak promotion."""
    if not PREFERENCES.weak:
        return casting.cast(x, dtypes.uint64 if x.dtype.is_unsigned else dtypes.int64)
    if not x.dtype.is_bool and x.dtype.size >= dtypes.int32.size:
        return x
    return casting.cast(x, dtypes.uint32 if x.dtype.is_unsigned else dtypes.int32)


def sum(a: TensorLike, axis: Any = None, dtype: Any = None, keepdims: bool | None = None) -> Tensor:
    """The sum.

    Args:
        a: numbers; integers of fewer than 64 bits and bools are summed as int64 or uint64.
        axis: the axes that go, one or several; None for all.
        dtype: to cast to before; of bool, whether one is true.
        keepdims: whether axes that go stay with size 1.
    """
    return _total(reduction.reduce_sum, reduction.reduce_any, a, axis, dtype, keepdims)


def prod(
    a: TensorLike, axis: Any = None, dtype: Any = None, keepdims: bool | None = None
) -> Tensor:
    """The product.

    Args:
        a: numbers; integers of fewer than 64 bits and bools are multiplied as int64 or uint64.
        axis: the axes that go, one or several; None for all.
        dtype: to cast to before; of bool, whether all are true.
        keepdims: whether axes that go stay with size 1.
    """
    return _total(reduction.reduce_prod, reduction.reduce_all, a, axis, dtype, keepdims)


def _averageable(a: TensorLike, dtype: Any) -> Tensor:
    """`a`, with integers and bools as floats unless a dtype is given."""
    kind = asked_type(dtype)
    x = made_array(a, kind)
    if kind is None and (x.dtype.is_bool or x.dtype.is_integer):
        return casting.cast(x, result_type(float))
    return x


def mean(
    a: TensorLike,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The mean.

    Args:
        a: numbers; integers and bools count as float64.
        axis: the axes that go, one or several; None for all.
        dtype: to cast to before.
        out: None: tensors cannot be written to.
        keepdims: whether axes that go stay with size 1.

    Raises:
        ValueError: `out` is given.
    """
    _no_out("mean", out)
    return _reduced(reduction.reduce_mean, _averageable(a, dtype), axis, keepdims)


def var(
    a: TensorLike,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: int = 0,
    keepdims: bool | None = None,
) -> Tensor:
    """The variance: the mean of |a - mean|².

    Args:
        a: numbers; integers and bools count as float64.
        axis: the axes that go, one or several; None for all.
        dtype: dtype of the result; the work is done in what holds both it and `a`.
        out: None: tensors cannot be written to.
        ddof: number subtracted from the number of values before dividing by it.
        keepdims: whether axes that go stay with size 1.

    Raises:
        ValueError: `out` is given.
    """
    _no_out("var", out)
    x = _averageable(a, None if dtype is None else result_type(a, dtype))
    if ddof:
        found = _variance(x, axis, ddof, keepdims)
    else:
        found = _reduced(statistics.reduce_variance, x, axis, keepdims)
    return found if dtype is None else casting.cast(found, dtype)


def _variance(x: Tensor, axis: Any, ddof: int, keepdims: bool | None) -> Tensor:
    distance = arithmetic.subtract(x, reduction.reduce_mean(x, axis=axis, keepdims=True))
    if x.dtype.is_complex:
        product = arithmetic.multiply(distance, complexes.conj(distance))
        squares = casting.cast(complexes.real(product), x.dtype)
    else:
        squares = arithmetic.square(distance)
    total = _reduced(reduction.reduce_sum, squares, axis, keepdims)
    count = arithmetic.subtract(_count(x, axis), ddof)
    return division.truediv(total, casting.cast(count, x.dtype))


def _count(x: Tensor, axis: Any) -> Tensor:
    """The number of values per result."""
    if axis is None:
        return shapes.size(x)
    sizes, rank = shapes.axis_sizes(x), known_rank("var", x)
    gone = [axis] if isinstance(axis, int) else [int(one) for one in axis]
    count = constants.constant(1)
    for one in sorted({one % rank for one in gone}):
        count = arithmetic.multiply(count, sizes[one])
    return count


def std(a: TensorLike, axis: Any = None, keepdims: bool | None = None) -> Tensor:
    """The standard deviation: the root of `var`.

    Args:
        a: numbers; integers and bools count as float64.
        axis: the axes that go, one or several; None for all.
        keepdims: whether axes that go stay with size 1.
    """
    return _reduced(statistics.reduce_std, _averageable(a, None), axis, keepdims)


def amax(a: TensorLike, axis: Any = None, out: Any = None, keepdims: bool | None = None) -> Tensor:
    """The largest value; for bools, whether any is true.

    Args:
        a: numbers, not complex.
        axis: the axes that go, one or several; None for all.
        out: None: tensors cannot be written to.
        keepdims: whether axes that go stay with size 1.

    Raises:
        ValueError: `out` is given.
    """
    _no_out("amax", out)
    x = made_array(a)
    function = reduction.reduce_any if x.dtype.is_bool else reduction.reduce_max
    return _reduced(function, x, axis, keepdims)


def amin(a: TensorLike, axis: Any = None, out: Any = None, keepdims: bool | None = None) -> Tensor:
    """The smallest value; of bools, whether all are true.

    Args:
        a: numbers, not complex.
        axis: the axes that go, one or several; None for all.
        out: None: tensors cannot be written to.
        keepdims: whether axes that go stay with size 1.

    Raises:
        ValueError: `out` is given.
    """
    _no_out("amin", out)
    x = made_array(a)
    function = reduction.reduce_all if x.dtype.is_bool else reduction.reduce_min
    return _reduced(function, x, axis, keepdims)


def max(a: TensorLike, axis: Any = None, keepdims: bool | None = None) -> Tensor:
    """See `amax`."""
    return amax(a, axis=axis, keepdims=keepdims)


def min(a: TensorLike, axis: Any = None, keepdims: bool | None = None) -> Tensor:
    """See `amin`."""
    return amin(a, axis=axis, keepdims=keepdims)


def ptp(a: TensorLike, axis: Any = None, keepdims: bool | None = None) -> Tensor:
    """The largest value minus the smallest.

    Args:
        a: numbers, not complex.
        axis: the axes that go, one or several; None for all.
        keepdims: whether axes that go stay with size 1.
    """
    return arithmetic.subtract(
        amax(a, axis=axis, keepdims=keepdims), amin(a, axis=axis, keepdims=keepdims)
    )


def _no_out(who: str, out: Any) -> None:
    if out is not None:
        raise ValueError(f"{who}: out must be None: tensors cannot be written to")


def all(a: TensorLike, axis: Any = None, keepdims: bool | None = None) -> Tensor:
    """Whether no value is 0, over `axis` (None: all axes)."""
    return _reduced(reduction.reduce_all, made_array(a, dtypes.bool), axis, keepdims)


def any(a: TensorLike, axis: Any = None, keepdims: bool | None = None) -> Tensor:
    """Whether any value is not 0, over `axis` (None: all axes)."""
    return _reduced(reduction.reduce_any, made_array(a, dtypes.bool), axis, keepdims)


def count_nonzero(a: TensorLike, axis: Any = None) -> Tensor:
    """The number of non-zero elements over `axis` (None: all axes), int64."""
    return statistics.count_nonzero(made_array(a), axis)


def nansum(
    a: TensorLike, axis: Any = None, dtype: Any = None, keepdims: bool | None = False
) -> Tensor:
    """`sum`, with NaN counted as 0."""
    return sum(_without_nan(a, 0), axis=axis, dtype=dtype, keepdims=keepdims)


def nanprod(
    a: TensorLike, axis: Any = None, dtype: Any = None, keepdims: bool | None = False
) -> Tensor:
    """`prod`, with NaN counted as 1."""
    return prod(_without_nan(a, 1), axis=axis, dtype=dtype, keepdims=keepdims)


def nanmean(
    a: TensorLike, axis: Any = None, dtype: Any = None, keepdims: bool | None = None
) -> Tensor:
    """The `mean`, ignoring NaN.

    Args:
        a: numbers.
        axis: the axes that go, one or several; None for all.
        dtype: to cast to before.
        keepdims: whether axes that go stay with size 1.
    """
    x = made_array(a)
    if x.dtype.is_bool or x.dtype.is_integer:
        return mean(x, axis=axis, dtype=dtype, keepdims=keepdims)
    kind = asked_type(dtype) or x.dtype
    there = elementwise.logical_not(elementwise.isnan(x))
    count = sum(there, axis=axis, dtype=kind, keepdims=keepdims)
    return division.truediv(nansum(x, axis=axis, dtype=kind, keepdims=keepdims), count)


def _without_nan(a: TensorLike, instead: int) -> Tensor:
    x = made_array(a)
    return (
        selecting.where(elementwise.isnan(x), constants.constant(instead, x.dtype), x)
        if (not x.dtype.is_bool)
        else x
    )


def cumsum(a: TensorLike, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The cumulative sums.

    Args:
        a: numbers; small integers are summed as int64.
        axis: the axis; None for the values in row-major order.
        dtype: to cast to before.
    """
    return _accumulated(cumulation.cumsum, a, axis, dtype)


def cumprod(a: TensorLike, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The cumulative products.

    Args:
        a: numbers; small integers are multiplied as int64.
        axis: the axis; None for the values in row-major order.
        dtype: to cast to before.
    """
    return _accumulated(cumulation.cumprod, a, axis, dtype)


def _accumulated(
    function: Callable[..., Tensor], a: TensorLike, axis: int | None, dtype: Any
) -> Tensor:
    kind = asked_type(dtype)
    x = made_array(a, kind)
    if kind is None and x.dtype.is_integer:
        least = np.int32 if PREFERENCES.weak else int
        x = casting.cast(x, dtypes.as_dtype(np.promote_types(x.dtype.numpy, least)))
    if axis is None:
        return function(reshaping.reshape(x, [-1]), 0)
    return function(x, axis)


def argmax(a: TensorLike, axis: int | None = None) -> Tensor:
    """The index of the largest value, the first of equal ones.

    Args:
        a: numbers, not complex.
        axis: the axis; None for the values in row-major order.
    """
    return extremes.argmax(*_searched(a, axis))


def argmin(a: TensorLike, axis: int | None = None) -> Tensor:
    """The index of the smallest value, the first of equal ones.

    Args:
        a: numbers, not complex.
        axis: the axis; None for the values in row-major order.
    """
    return extremes.argmin(*_searched(a, axis))


def _searched(a: TensorLike, axis: int | None) -> tuple[Tensor, int]:
    x = made_array(a)
    if axis is None or x.shape.rank == 0:
        return reshaping.reshape(x, [-1]), 0 if axis is None else axis
    return x, axis
