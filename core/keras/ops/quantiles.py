"""Quantiles and medians, with and without NaN."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import floating
from pinnace.ops.array import (
    casting,
    constants,
    gathering,
    permutations,
    reshaping,
    selecting,
    shapes,
    sorting,
)
from pinnace.ops.math import arithmetic, comparison, logic, reduction, rounding

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")
_SETTINGS = ("axis", "method", "keepdims")


@operation("numpy", "Quantile", *_SETTINGS)
def quantile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """The q-quantiles of the values along axes; NaN where a value is.

    Args:
        x: [...], a real number type; integers become floats.
        q: shares from 0 to 1, a number or a tensor.
        axis: an axis or several; all if None.
        method: the value between two others: "linear" between them by its distance, the "lower",
            "higher" or "nearest" one, or their "midpoint".
        keepdims: reduced axes stay, with size 1.

    Returns:
        The axes of `q`, then [...] without the reduced axes; a float type.

    Raises:
        ValueError: unknown method.
    """
    tensor = floating(x)
    rows, form = _rows(tensor, axis)
    last = casting.cast(shapes.shape(rows)[-1] - 1, dtypes.float64)
    # Keras: quantiles are rounded to float32 first, which decides ties for "lower" and "higher".
    shares = casting.cast(convert_to_tensor(q), dtypes.float64)
    found = _at(sorting.sort(rows), reshaping.reshape(shares, [-1]) * last, method)
    lost = reduction.reduce_any(comparison.is_nan(rows), -1, keepdims=True)
    found = selecting.where(lost, constants.constant(math.nan, found.dtype), found)
    return _formed(found, shares, form, keepdims)


@operation("numpy", "Percentile", *_SETTINGS)
def percentile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """The q-percentiles of the values along axes; see `quantile`.

    Args:
        x: [...], a real number type; integers become floats.
        q: percents from 0 to 100, a number or a tensor.
        axis: an axis or several; all if None.
        method: see `quantile`.
        keepdims: reduced axes stay, with size 1.

    Returns:
        The axes of `q`, then [...] without the reduced axes; a float type.
    """
    found: Tensor = quantile(x, casting.cast(q, floatx()) / 100.0, axis, method, keepdims)
    return found


@operation("numpy", "Median", "axis", "keepdims")
def median(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The value in the middle along axes, the mean of the two of an even number; see `quantile`.

    Args:
        x: [...], a real number type; integers become floats.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, a float type.
    """
    found: Tensor = quantile(x, 0.5, axis, "linear", keepdims)
    return found


@operation("numpy", "Nanquantile", *_SETTINGS)
def nanquantile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Quantiles of the values that are not NaN; NaN if there are none. See `quantile`.

    Args:
        x: [...], a real number type; integers become floats.
        q: shares from 0 to 1, a number or a tensor.
        axis: an axis or several; all if None.
        method: see `quantile`.
        keepdims: reduced axes stay, with size 1.

    Returns:
        The axes of `q`, then [...] without the reduced axes; a float type.
    """
    rows, form = _rows(floating(x), axis)
    missing = comparison.is_nan(rows)
    # NaN sorts to the end, beyond the positions that are read.
    ends = constants.constant(math.inf, rows.dtype)
    ordered = sorting.sort(selecting.where(missing, ends, rows))
    many = casting.cast(logic.logical_not(missing), dtypes.float64)
    count = reduction.reduce_sum(many, -1, keepdims=True)
    shares = casting.cast(casting.cast(q, floatx()), dtypes.float64)
    places = reshaping.reshape(shares, [-1]) * arithmetic.maximum(count - 1.0, 0.0)
    found = _at(ordered, places, method)
    none = comparison.equal(count, 0.0)
    found = selecting.where(none, constants.constant(math.nan, found.dtype), found)
    return _formed(found, shares, form, keepdims)


@operation("numpy", "Nanpercentile", *_SETTINGS)
def nanpercentile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Percentiles of the values that are not NaN; NaN if there are none. See `percentile`.

    Args:
        x: [...], a real number type; integers become floats.
        q: percents from 0 to 100, a number or a tensor.
        axis: an axis or several; all if None.
        method: see `quantile`.
        keepdims: reduced axes stay, with size 1.

    Returns:
        The axes of `q`, then [...] without the reduced axes; a float type.
    """
    found: Tensor = nanquantile(x, casting.cast(q, floatx()) / 100.0, axis, method, keepdims)
    return found


@operation("numpy", "Nanmedian", "axis", "keepdims")
def nanmedian(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The median of the values that are not NaN; NaN where all are.

    Args:
        x: [...], a real number type; integers become floats.
        axis: an axis or several; all if None, none if it is empty.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, a float type.
    """
    if axis is not None and not isinstance(axis, int) and not axis:
        given: Tensor = convert_to_tensor(x)
        return given
    found: Tensor = nanquantile(x, 0.5, axis, "linear", keepdims)
    return found


def _rows(x: Tensor, axis: Any) -> tuple[Tensor, tuple[list[Any], list[int]]]:
    """The values of the axes as one last axis; all sizes, and which axes these are."""
    rank = x.shape.rank or 0
    sizes = shapes.axis_sizes(x)
    if axis is None:
        return reshaping.reshape(x, [-1]), (sizes, list(range(rank)))
    reduced = [n % rank for n in ([axis] if isinstance(axis, int) else axis)]
    others = [n for n in range(rank) if n not in reduced]
    turned = permutations.transpose(x, [*others, *reduced])
    count: Any = 1
    for place in reduced:
        count = sizes[place] * count
    return reshaping.reshape(turned, [*(sizes[n] for n in others), count]), (sizes, reduced)


def _at(ordered: Tensor, places: Tensor, method: str) -> Tensor:
    """The interpolated values at positions of sorted rows, [..., positions]."""
    if method not in _METHODS:
        raise ValueError(f"keras.ops: method must be one of {', '.join(_METHODS)}, got {method!r}")
    low, high = rounding.floor(places), rounding.ceil(places)
    match method:
        case "lower":
            return _picked(ordered, low)
        case "higher":
            return _picked(ordered, high)
        case "nearest":
            return _picked(ordered, rounding.round(places))
        case "midpoint":
            return (_picked(ordered, low) + _picked(ordered, high)) * 0.5
    share = casting.cast(places - low, ordered.dtype)
    below = _picked(ordered, low)
    between = below * (1.0 - share) + _picked(ordered, high) * share
    # 0 · inf would be NaN, so a fraction of 0 takes the lower value unchanged.
    return selecting.where(comparison.equal(share, 0.0), below, between)


def _picked(ordered: Tensor, places: Tensor) -> Tensor:
    where = casting.cast(places, dtypes.int32)
    if where.shape.rank == 1:
        return gathering.gather(ordered, where, axis=-1)
    return gathering.gather(ordered, where, batch_dims=(ordered.shape.rank or 1) - 1)


def _formed(
    found: Tensor, shares: Tensor, form: tuple[list[Any], list[int]], keepdims: bool
) -> Tensor:
    """[..., shares] with the axes of the shares in front."""
    sizes, reduced = form
    rank = found.shape.rank or 1
    front = permutations.transpose(found, [rank - 1, *range(rank - 1)])
    kept = [
        1 if n in reduced else size for n, size in enumerate(sizes) if keepdims or n not in reduced
    ]
    return reshaping.reshape(front, [*shapes.axis_sizes(shares), *kept])
