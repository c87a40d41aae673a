"""Reductions: sums, means, extremes, their positions, and cumulative sums."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import floating, summable
from pinnace.ops.array import casting, reshaping, sorting
from pinnace.ops.math import cumulation, extremes, reduction, statistics

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_AXES = ("axis", "keepdims")


def _axes(axis: Any) -> Any:
    return builtins.list(axis) if isinstance(axis, tuple) else axis


@operation("numpy", "Sum", *_AXES, sparse="total")
def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The sum along axes; of all if None.

    Args:
        x: [...]; small integers are widened as in Keras.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.
    """
    return reduction.reduce_sum(summable(x), _axes(axis), keepdims)


@operation("numpy", "Prod", *_AXES, "dtype")
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


@operation("numpy", "Mean", *_AXES, sparse="mean")
def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean along axes; of all if None.

    Args:
        x: [...]; integers become floats.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, a float type.
    """
    return reduction.reduce_mean(floating(x), _axes(axis), keepdims)


@operation("numpy", "Var", *_AXES)
def var(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean of the squares about the mean.

    Args:
        x: [...]; integers become floats.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, a float type.
    """
    return statistics.reduce_variance(floating(x), _axes(axis), keepdims)


@operation("numpy", "Std", *_AXES)
def std(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The root of the variance.

    Args:
        x: [...]; integers become floats.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, a float type.
    """
    return statistics.reduce_std(floating(x), _axes(axis), keepdims)


def _extreme(which: Any, x: Any, axis: Any, keepdims: bool, initial: Any) -> Tensor:
    found: Tensor = which(x, _axes(axis), keepdims)
    if initial is None:
        return found
    other = casting.cast(initial, found.dtype)
    from pinnace.ops.math import arithmetic

    joined = arithmetic.maximum if which is reduction.reduce_max else arithmetic.minimum
    return joined(found, other)


@operation("numpy", "Max", *_AXES, "initial")
def max(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Tensor:
    """The largest along axes; not below `initial`.

    Args:
        x: [...], a real number type.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.
        initial: a number that counts as one more element.

    Returns:
        [...] without the reduced axes, dtype of `x`.
    """
    return _extreme(reduction.reduce_max, x, axis, keepdims, initial)


@operation("numpy", "Min", *_AXES, "initial")
def min(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Tensor:
    """The smallest along axes; not above `initial`.

    Args:
        x: [...], a real number type.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.
        initial: a number that counts as one more element.

    Returns:
        [...] without the reduced axes, dtype of `x`.
    """
    return _extreme(reduction.reduce_min, x, axis, keepdims, initial)


@operation("numpy", "Amax", *_AXES)
def amax(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest along axes.

    Args:
        x: [...], a real number type.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, dtype of `x`.
    """
    return reduction.reduce_max(x, _axes(axis), keepdims)


@operation("numpy", "Amin", *_AXES)
def amin(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest along axes.

    Args:
        x: [...], a real number type.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, dtype of `x`.
    """
    return reduction.reduce_min(x, _axes(axis), keepdims)


@operation("numpy", "All", *_AXES)
def all(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether all elements are true along axes.

    Args:
        x: [...], cast to bool.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, bool.
    """
    return reduction.reduce_all(casting.cast(x, "bool"), _axes(axis), keepdims)


@operation("numpy", "Any", *_AXES)
def any(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether any element is true along axes.

    Args:
        x: [...], cast to bool.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, bool.
    """
    return reduction.reduce_any(casting.cast(x, "bool"), _axes(axis), keepdims)


@operation("math", "Logsumexp", *_AXES)
def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))), without overflow.

    Args:
        x: [...]; integers become floats.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, a float type.
    """
    return statistics.reduce_logsumexp(floating(x), _axes(axis), keepdims)


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


@operation("numpy", "Argmax", *_AXES)
def argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the largest along an axis, int32; in the flat tensor if None.

    Args:
        x: [...], a real number type.
        axis: an axis; the flat tensor if None.
        keepdims: the axis stays, with size 1.

    Returns:
        [...] without `axis`, int32; the first of equal elements.
    """
    return _place(extremes.argmax, x, axis, keepdims)


@operation("numpy", "Argmin", *_AXES)
def argmin(x: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the smallest along an axis, int32; in the flat tensor if None.

    Args:
        x: [...], a real number type.
        axis: an axis; the flat tensor if None.
        keepdims: the axis stays, with size 1.

    Returns:
        [...] without `axis`, int32; the first of equal elements.
    """
    return _place(extremes.argmin, x, axis, keepdims)


def _without_bools(x: Any, dtype: Any) -> Tensor:
    """`x`, in a dtype if one is given; bools become int32."""
    tensor: Tensor = convert_to_tensor(x) if dtype is None else casting.cast(x, dtype)
    return casting.cast(tensor, dtypes.int32) if tensor.dtype is dtypes.bool else tensor


@operation("numpy", "Cumsum", "axis", "dtype")
def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The cumulative sums along an axis; of the flat tensor if None.

    Args:
        x: [...], a number type.
        axis: an axis; the flat tensor if None.
        dtype: to cast to before; bools are int32.

    Returns:
        The shape of `x`, or as many elements in one axis.
    """
    tensor = _without_bools(x, dtype)
    if axis is None:
        return cumulation.cumsum(reshaping.reshape(tensor, [-1]), 0)
    return cumulation.cumsum(tensor, axis)


@operation("numpy", "Cumprod", "axis", "dtype")
def cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The cumulative products along an axis; of the flat tensor if None.

    Args:
        x: [...], a number type.
        axis: an axis; the flat tensor if None.
        dtype: to cast to before; bools are int32.

    Returns:
        The shape of `x`, or as many elements in one axis.
    """
    tensor = _without_bools(x, dtype)
    if axis is None:
        return cumulation.cumprod(reshaping.reshape(tensor, [-1]), 0)
    return cumulation.cumprod(tensor, axis)


@operation("numpy", "Sort", "axis")
def sort(x: Any, axis: int = -1) -> Tensor:
    """The elements in ascending order along an axis.

    Args:
        x: [...], a real number type.
        axis: an axis; negative ones count from the end.

    Returns:
        The shape and dtype of `x`.
    """
    return sorting.sort(x, axis)


@operation("numpy", "Argsort", "axis")
def argsort(x: Any, axis: int = -1) -> Tensor:
    """The indices that sort along an axis, int32; equal elements keep their order.

    Args:
        x: [...], a real number type.
        axis: an axis; negative ones count from the end.

    Returns:
        The shape of `x`, int32.
    """
    return sorting.argsort(x, axis, stable=True)


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
