"""Top k, distinct values in order of appearance, and binary search."""

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.kernels.precision import Array, computed_in

# Partitioning pays off if the axis is long, and many times as long as k.
_LONG, _MANY_TIMES = 64, 4


def top_k(x: Array, k: int, index_dtype: npt.DTypeLike = np.int32) -> tuple[Array, Array]:
    """The k greatest along the last axis, in descending order.

    Args:
        x: [..., n].
        k: from 0 to n.
        index_dtype: dtype of the indices.

    Returns:
        values [..., k], dtype of x, and indices [..., k]. Among equals, the lower index comes
        first; NaN counts as greater than everything.

    Raises:
        InvalidArgumentError: k is negative or more than n, or x is a scalar.

    Source:
        TensorFlow op `TopKV2`.
    """
    if x.ndim == 0:
        raise InvalidArgumentError("top_k: input must have at least one axis, got a scalar")
    n = x.shape[-1]
    if not 0 <= k <= n:
        raise InvalidArgumentError(f"top_k: k must be from 0 to the last axis' size {n}, got {k}")
    # ml_dtypes sorts through a slow comparison; float32 holds its values and their order.
    keys = x.astype(computed_in(x.dtype), copy=False)
    if k > 0 and n >= _LONG and n >= _MANY_TIMES * k:
        indices = _top_by_partition(keys.reshape(-1, n), k).reshape(*x.shape[:-1], k)
    else:
        indices = _descending(keys)[..., :k]
    return np.take_along_axis(x, indices, axis=-1), indices.astype(index_dtype)


def _descending(keys: Array) -> npt.NDArray[np.intp]:
    """Stable order along the last axis, greatest first.

    The reversed order of the reversed array: negating would not do for unsigned or least integers.
    """
    n = keys.shape[-1]
    order = np.argsort(keys[..., ::-1], axis=-1, kind="stable")
    return np.asarray(n - 1 - order[..., ::-1])


def _top_by_partition(keys: Array, k: int) -> npt.NDArray[np.intp]:
    """[rows, k]: the top k without sorting the rest, for k well below n."""
    rows, n = keys.shape
    if rows == 0:
        return np.empty((0, k), np.intp)
    if keys.dtype.kind == "f":
        keys = _as_integers(keys)
    least = np.partition(keys, n - k, axis=-1)[:, n - k : n - k + 1]
    chosen = keys > least
    # Of those equal to the smallest selected value, the first ones fill up to k.
    equal = keys == least
    missing = k - np.count_nonzero(chosen, axis=-1, keepdims=True)
    several = np.count_nonzero(equal, axis=-1, keepdims=True) > missing
    if several.any():
        equal &= np.cumsum(equal, axis=-1, dtype=np.int32) <= missing
    chosen |= equal
    columns = np.nonzero(chosen)[1].reshape(rows, k)
    order = _descending(np.take_along_axis(keys, columns, axis=-1))
    return np.take_along_axis(columns, order, axis=-1)


def _as_integers(keys: Array) -> Array:
    """Integers in the order of floats, with -0 equal to 0, and NaN above all and equal."""
    signed = np.dtype(f"i{keys.dtype.itemsize}")
    bits = (keys + 0).view(signed)  # adding 0 turns -0 into 0
    ordered: Array = bits ^ ((bits >> (8 * signed.itemsize - 1)) & np.iinfo(signed).max)
    ordered[np.isnan(keys)] = np.iinfo(signed).max
    return ordered


def unique(x: Array, index_dtype: npt.DTypeLike = np.int32) -> tuple[Array, Array, Array]:
    """The distinct elements of a vector, in the order in which they appear.

    Args:
        x: [n]; strings are an object array of bytes.
        index_dtype: dtype of the indices and counts.

    Returns:
        y [m]; idx [n] with y[idx] equal to x; counts [m]. No NaN equals another.

    Raises:
        InvalidArgumentError: x is no vector.

    Source:
        TensorFlow ops `Unique`, `UniqueWithCounts`.
    """
    if x.ndim != 1:
        raise InvalidArgumentError(f"unique: input must be a vector, got shape {list(x.shape)}")
    if x.dtype == object:
        seen: dict[Any, int] = {}
        idx = np.array([seen.setdefault(item, len(seen)) for item in x.tolist()], np.intp)
        y = np.empty(len(seen), object)
        y[:] = list(seen)
        return y, idx.astype(index_dtype), np.bincount(idx, minlength=len(seen)).astype(index_dtype)
    keys = x.astype(computed_in(x.dtype), copy=False)
    if keys.dtype.kind in "iu" and keys.size:
        low, high = int(keys.min()), int(keys.max())
        if high - low < max(_LONG, len(keys) // 4):
            places = keys.astype(np.intp) - keys.min().astype(np.intp)
            return _by_table(x, places, high - low + 1, index_dtype)
    _, first, inverse, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return _by_appearance(x, first, inverse, counts, index_dtype)


def _by_table(
    x: Array, places: Array, size: int, index_dtype: npt.DTypeLike
) -> tuple[Array, Array, Array]:
    """`unique` of integers of a small range: `places` are their distances from the least."""
    counts = np.bincount(places, minlength=size)
    first = np.empty(size, np.intp)
    first[places[::-1]] = np.arange(len(places))[::-1]  # the last to be written stays
    found = np.flatnonzero(counts)
    order = found[np.argsort(first[found])]
    rank = np.empty(size, index_dtype)
    rank[order] = np.arange(len(order))
    return x[first[order]], rank[places], counts[order].astype(index_dtype)


def unique_along(
    x: Array, axis: int, index_dtype: npt.DTypeLike = np.int32
) -> tuple[Array, Array, Array]:
    """The distinct slices of x along an axis, in the order in which they appear.

    Args:
        x: any shape of rank at least 1.
        axis: the axis whose positions are compared.
        index_dtype: dtype of the indices and counts.

    Returns:
        y, x without the repeated slices; idx [size of axis]; counts [size of the axis in y].

    Source:
        TensorFlow ops `UniqueV2`, `UniqueWithCountsV2`.
    """
    if x.ndim == 1:
        return unique(x, index_dtype)
    slices = np.moveaxis(x, axis, 0)
    flat = slices.reshape(len(slices), math.prod(slices.shape[1:]))
    if x.dtype == object or flat.shape[1] == 0:
        rows = np.empty(len(flat), object)
        rows[:] = [tuple(row) for row in flat.tolist()]
        y, idx, counts = unique(rows, index_dtype)
        first = np.zeros(len(y), np.intp)
        first[idx[::-1]] = np.arange(len(idx))[::-1]
        return np.moveaxis(slices[first], 0, axis), idx, counts
    keys = flat.astype(computed_in(x.dtype), copy=False)
    _, first, inverse, counts = np.unique(
        keys, axis=0, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    y, idx, counts = _by_appearance(slices, first, inverse, counts, index_dtype)
    return np.moveaxis(y, 0, axis), idx, counts


def _by_appearance(
    x: Array, first: Array, inverse: Array, counts: Array, index_dtype: npt.DTypeLike
) -> tuple[Array, Array, Array]:
    """Results reordered from sorted order to the order of first appearance."""
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return (
        x[first[order]],
        rank[inverse.reshape(-1)].astype(index_dtype),
        counts[order].astype(index_dtype),
    )


def searchsorted(
    sorted_rows: Array,
    values: Array,
    side: Literal["left", "right"],
    index_dtype: npt.DTypeLike = np.int32,
) -> Array:
    """Insertion indices of values in sorted rows.

    Args:
        sorted_rows: [..., n], ascending along the last axis.
        values: [..., m], same leading axes.
        side: "left" before equals (TensorFlow's LowerBound), "right" after them (UpperBound).
        index_dtype: dtype of the result.

    Returns:
        [..., m], from 0 to n.

    Raises:
        InvalidArgumentError: the leading axes differ.

    Source:
        TensorFlow ops `LowerBound`, `UpperBound`.
    """
    if sorted_rows.shape[:-1] != values.shape[:-1]:
        raise InvalidArgumentError(
            "searchsorted: leading axes of the sorted rows and of the values must be equal, got "
            f"{list(sorted_rows.shape)} and {list(values.shape)}"
        )
    n, m = sorted_rows.shape[-1], values.shape[-1]
    count = math.prod(values.shape[:-1])
    rows = sorted_rows.reshape(count, n).astype(computed_in(sorted_rows.dtype), copy=False)
    wanted = values.reshape(count, m).astype(computed_in(values.dtype), copy=False)
    out = np.empty((count, m), index_dtype)
    for row in range(count):
        out[row] = np.searchsorted(rows[row], wanted[row], side)
    return out.reshape(values.shape)
