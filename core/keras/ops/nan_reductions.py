"""Reductions that ignore NaN."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.ops import reductions
from pinnace.keras.ops.elementwise import nan_to_num
from pinnace.keras.ops.families import AXES, CUMULATIVE, EXTREMES, MEANS, PLACES, SUMS
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import floating, summable
from pinnace.ops.array import casting, constants, selecting
from pinnace.ops.math import arithmetic, comparison, exponents, logic, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def _axes(axis: Any) -> Any:
    return list(axis) if isinstance(axis, tuple) else axis


def _without(x: Tensor, value: float) -> Tensor:
    """x with NaN replaced by a value."""
    return selecting.where(comparison.is_nan(x), constants.constant(value, x.dtype), x)


def _all_nan(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    return reduction.reduce_all(comparison.is_nan(x), _axes(axis), keepdims)


@operation("numpy", "Nansum", *AXES, takes=SUMS.takes)
def nansum(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The sum along axes, NaN as 0."""
    tensor = summable(x)
    kept = _without(tensor, 0.0) if tensor.dtype.is_floating else tensor
    return reduction.reduce_sum(kept, _axes(axis), keepdims)


@operation("numpy", "Nanprod", *AXES, takes=SUMS.takes)
def nanprod(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The product along axes, NaN as 1."""
    tensor = summable(x)
    kept = _without(tensor, 1.0) if tensor.dtype.is_floating else tensor
    return reduction.reduce_prod(kept, _axes(axis), keepdims)


@operation("numpy", "Nanmean", *AXES)
def nanmean(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean along axes, ignoring NaN; NaN if all are NaN.

    Args:
        x: [...]; integers become float32.
        axis: an axis or several; all if None, none if it is empty.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, a float type.
    """
    tensor: Tensor = convert_to_tensor(x)
    if axis is not None and not isinstance(axis, int) and not axis:
        return tensor
    if not tensor.dtype.is_floating:
        return reduction.reduce_mean(casting.cast(tensor, dtypes.float32), _axes(axis), keepdims)
    total = reduction.reduce_sum(_without(tensor, 0.0), _axes(axis), keepdims)
    return total / _count(tensor, axis, keepdims)


def _count(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    """The number of values that are not NaN, in the dtype of `x`."""
    seen = casting.cast(logic.logical_not(comparison.is_nan(x)), x.dtype)
    return reduction.reduce_sum(seen, _axes(axis), keepdims)


@operation("numpy", "Nanvar", *AXES, takes=MEANS.takes)
def nanvar(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The variance along axes, ignoring NaN."""
    tensor = floating(x)
    mean: Tensor = nanmean(tensor, axis, True)
    # NaN is replaced before the subtraction; replacing it afterwards would make the gradient NaN.
    missing = comparison.is_nan(tensor)
    centred = selecting.where(missing, mean, tensor) - mean
    apart = selecting.where(missing, constants.zeros_like(tensor), arithmetic.square(centred))
    return reduction.reduce_sum(apart, _axes(axis), keepdims) / _count(tensor, axis, keepdims)


@operation("numpy", "Nanstd", *AXES, takes=MEANS.takes)
def nanstd(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The standard deviation along axes, ignoring NaN."""
    return exponents.sqrt(nanvar(x, axis, keepdims))


def _extreme(which: Any, x: Any, least: float, axis: Any, keepdims: bool) -> Tensor:
    tensor: Tensor = convert_to_tensor(x)
    if tensor.dtype is dtypes.bool:
        either = reduction.reduce_any if least < 0 else reduction.reduce_all
        return either(tensor, _axes(axis), keepdims)
    if not tensor.dtype.is_floating:
        plain: Tensor = which(tensor, _axes(axis), keepdims)
        return plain
    found: Tensor = which(_without(tensor, least), _axes(axis), keepdims)
    nan = constants.constant(math.nan, found.dtype)
    return selecting.where(_all_nan(tensor, axis, keepdims), nan, found)


@operation("numpy", "Nanmax", *AXES, takes=EXTREMES.takes)
def nanmax(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The maximum along axes, ignoring NaN; NaN if all are NaN."""
    return _extreme(reduction.reduce_max, x, -math.inf, axis, keepdims)


@operation("numpy", "Nanmin", *AXES, takes=EXTREMES.takes)
def nanmin(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The minimum along axes, ignoring NaN; NaN if all are NaN."""
    return _extreme(reduction.reduce_min, x, math.inf, axis, keepdims)


def _place(which: Any, x: Any, least: float, axis: int | None, keepdims: bool) -> Tensor:
    tensor: Tensor = convert_to_tensor(x)
    if not tensor.dtype.is_floating:
        plain: Tensor = which(tensor, axis, keepdims)
        return plain
    found: Tensor = which(_without(tensor, least), axis, keepdims)
    return selecting.where(_all_nan(tensor, axis, keepdims), -1, found)


@operation("numpy", "Nanargmax", *AXES, takes=PLACES)
def nanargmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the largest element that is not NaN; -1 where all are."""
    return _place(reductions.argmax, x, -math.inf, axis, keepdims)


@operation("numpy", "Nanargmin", *AXES, takes=PLACES)
def nanargmin(x: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the smallest element that is not NaN; -1 where all are."""
    return _place(reductions.argmin, x, math.inf, axis, keepdims)


@operation("numpy", "Nancumsum", "axis", "dtype", takes=CUMULATIVE)
def nancumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The cumulative sums along an axis, NaN as 0 and infinities as the largest numbers."""
    found: Tensor = reductions.cumsum(nan_to_num(x), axis, dtype)
    return found


@operation("numpy", "Nancumprod", "axis", "dtype", takes=CUMULATIVE)
def nancumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The cumulative products along an axis, NaN as 1 and infinities as the largest numbers."""
    found: Tensor = reductions.cumprod(nan_to_num(x, 1.0), axis, dtype)
    return found
