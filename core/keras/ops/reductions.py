"""Reductions: sums, means, extremes, their positions, and cumulative sums."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.ops.families import (
    AXES,
    CUMULATIVE,
    EXTREMES,
    MEANS,
    PLACES,
    SUMS,
    TRUTHS,
    reducer,
)
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import summable
from pinnace.ops.array import casting, reshaping, sorting
from pinnace.ops.math import cumulation, extremes, reduction, statistics

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_INITIAL = """Args:
    x: [...], a real number type.
    axis: an axis or several; all if None.
    keepdims: reduced axes stay, with size 1.
    initial: a number that counts as one more element.

Returns:
    [...] without the reduced axes, dtype of `x`."""

sum = reducer(
    "sum", reduction.reduce_sum, "The sum along axes; of all if None.", SUMS, sparse="total"
)
mean = reducer(
    "mean", reduction.reduce_mean, "The mean along axes; of all if None.", MEANS, sparse="mean"
)
var = reducer("var", statistics.reduce_variance, "The mean of the squares about the mean.", MEANS)
std = reducer("std", statistics.reduce_std, "The root of the variance.", MEANS)
amax = reducer("amax", reduction.reduce_max, "The largest along axes.", EXTREMES)
amin = reducer("amin", reduction.reduce_min, "The smallest along axes.", EXTREMES)
all = reducer("all", reduction.reduce_all, "Whether all elements are true along axes.", TRUTHS)
any = reducer("any", reduction.reduce_any, "Whether any element is true along axes.", TRUTHS)
logsumexp = reducer(
    "logsumexp",
    statistics.reduce_logsumexp,
    "log(sum(exp(x))), without overflow.",
    MEANS,
    module="math",
)


def _axes(axis: Any) -> Any:
    return builtins.list(axis) if isinstance(axis, tuple) else axis


@operation("numpy", "Prod", *AXES, "dtype")
def prod(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Tensor:
    """The product along axes; of all if None.

    Args:
        x: [...]; small integers are widened as in Keras.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.
        dtype: to cast to before.
    """
    x = summable(x) if dtype is None else casting.cast(x, dtype)
    return reduction.reduce_prod(x, _axes(axis), keepdims)


def _extreme(which: Any, x: Any, axis: Any, keepdims: bool, initial: Any) -> Tensor:
    found: Tensor = which(x, _axes(axis), keepdims)
    if initial is None:
        return found
    other = casting.cast(initial, found.dtype)
    from pinnace.ops.math import arithmetic

    joined = arithmetic.maximum if which is reduction.reduce_max else arithmetic.minimum
    return joined(found, other)


@operation("numpy", "Max", *AXES, "initial", takes=_INITIAL)
def max(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Tensor:
    """The largest along axes; not below `initial`."""
    return _extreme(reduction.reduce_max, x, axis, keepdims, initial)


@operation("numpy", "Min", *AXES, "initial", takes=_INITIAL)
def min(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Tensor:
    """The smallest along axes; not above `initial`."""
    return _extreme(reduction.reduce_min, x, axis, keepdims, initial)


def _place(which: Any, x: Any, axis: int | None, keepdims: bool) -> Tensor:
    tensor = convert_to_tensor(x)
    rank = tensor.shape.rank
    flat = reshaping.reshape(tensor, [-1]) if axis is None else tensor
    found: Tensor = which(flat, 0 if axis is None else axis, output_type=dtypes.int32)
    if not keepdims:
        return found
    if axis is None:
        return reshaping.reshape(found, [1] * (rank or 0))
    return reshaping.expand_dims(found, axis)


@operation("numpy", "Argmax", *AXES, takes=PLACES)
def argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the largest along an axis, int32; in the flat tensor if None."""
    return _place(extremes.argmax, x, axis, keepdims)


@operation("numpy", "Argmin", *AXES, takes=PLACES)
def argmin(x: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the smallest along an axis, int32; in the flat tensor if None."""
    return _place(extremes.argmin, x, axis, keepdims)


def _without_bools(x: Any, dtype: Any) -> Tensor:
    """`x`, in a dtype if one is given; bools become int32."""
    tensor: Tensor = convert_to_tensor(x) if dtype is None else casting.cast(x, dtype)
    return casting.cast(tensor, dtypes.int32) if tensor.dtype is dtypes.bool else tensor


@operation("numpy", "Cumsum", "axis", "dtype", takes=CUMULATIVE)
def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The cumulative sums along an axis; of the flat tensor if None."""
    tensor = _without_bools(x, dtype)
    if axis is None:
        return cumulation.cumsum(reshaping.reshape(tensor, [-1]), 0)
    return cumulation.cumsum(tensor, axis)


@operation("numpy", "Cumprod", "axis", "dtype", takes=CUMULATIVE)
def cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The cumulative products along an axis; of the flat tensor if None."""
    tensor = _without_bools(x, dtype)
    if axis is None:
        return cumulation.cumprod(reshaping.reshape(tensor, [-1]), 0)
    return cumulation.cumprod(tensor, axis)


@operation("numpy", "Sort", "axis")
def sort(x: Any, axis: int | None = -1) -> Tensor:
    """The elements in ascending order along an axis.

    Args:
        x: [...], bool or a real number type.
        axis: an axis; negative ones count from the end; the flat tensor if None.

    Returns:
        The shape of `x`, or as many elements in one axis; dtype of `x`.
    """
    kind = convert_to_tensor(x).dtype
    values, along = _sortable(x, axis)
    found = sorting.sort(values, along)
    return casting.cast(found, dtypes.bool) if kind is dtypes.bool else found


def _sortable(x: Any, axis: int | None) -> tuple[Tensor, int]:
    """The tensor, flat if there is no axis, bools as int8; and the axis."""
    tensor: Tensor = convert_to_tensor(x)
    if tensor.dtype is dtypes.bool:
        tensor = casting.cast(tensor, dtypes.int8)
    return (reshaping.reshape(tensor, [-1]), 0) if axis is None else (tensor, axis)


@operation("numpy", "Argsort", "axis")
def argsort(x: Any, axis: int | None = -1) -> Tensor:
    """The indices that sort along an axis, int32; equal elements keep their order.

    Args:
        x: [...], bool or a real number type; a scalar is flat.
        axis: an axis; negative ones count from the end; the flat tensor if None.

    Returns:
        The shape of `x`, or as many elements in one axis; int32.
    """
    tensor: Tensor = convert_to_tensor(x)
    values, along = _sortable(tensor, axis if tensor.shape.rank != 0 else None)
    return sorting.argsort(values, along, stable=True)


@operation("math", "TopK", "k", "sorted")
def top_k(x: Any, k: int, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The k largest of the last axis, and their indices.

    Args:
        x: [..., n], a real number type.
        k: how many, at most n.
        sorted: whether they come in descending order.

    Returns:
        Two tensors [..., k]: dtype of `x`, and int32.
    """
    values, places = sorting.top_k(x, k, sorted=sorted)
    return values, places
