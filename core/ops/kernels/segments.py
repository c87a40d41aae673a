"""Segment reductions, and scatters to an array with repeated indices.

Sorted groups go through `ufunc.reduceat`. For the rest, `ufunc.at` is quick only on flat arrays
with flat indices (there NumPy has a compiled loop), so rows are spread into elements first; that
beats sorting, `bincount` and a product with one-hot rows at every size that was tried. Sums of
float32 rows, the gradients of embeddings, have machine code once they have taken some time.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.kernels import compiled, recycling
from pinnace.ops.kernels.pooling import lowest
from pinnace.ops.kernels.precision import Array, Indices, computed_in

Reduction: TypeAlias = Literal["sum", "prod", "max", "min"]
Mean: TypeAlias = Literal["mean", "sqrt_n"]
Scatter: TypeAlias = Literal["update", "add", "sub", "max", "min"]

# Numbers of a result up to which its memory is reused after it is freed.
_MOST_LENT = 1 << 22
_UFUNCS: dict[str, np.ufunc] = {
    "sum": np.add,
    "add": np.add,
    "sub": np.subtract,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


# The neutral element of each reduction of float32, and its number for the compiled code.
_NEUTRAL: dict[np.ufunc, float] = {
    np.add: 0.0,
    np.multiply: 1.0,
    np.maximum: -np.inf,
    np.minimum: np.inf,
}
_NUMBERS: dict[np.ufunc, int] = {np.maximum: 0, np.minimum: 1, np.multiply: 2}


def segment_reduce(
    data: Array, ids: Indices, how: Reduction | Mean, num_segments: int | None = None
) -> Array:
    """Rows with the same id reduced to one row; the ids are sorted.

    Args:
        data: [n, ...].
        ids: [n], not negative, never decreasing.
        how: "sum", "prod", "max", "min", "mean", or "sqrt_n": sum / sqrt(number of rows).
        num_segments: rows of the result, more than any id; by default one more than the last id.

    Returns:
        [segments, ...], dtype of data. A segment without rows is 0, for "prod" 1. NaN spreads.

    Raises:
        InvalidArgumentError: ids decrease, are negative or reach `num_segments`, or their number is
            not that of the rows.

    Source:
        TensorFlow ops `SegmentSum`, `SegmentProd`, `SegmentMax`, `SegmentMin`, `SegmentMean`,
        `SparseSegmentSum`, `SparseSegmentMean`, `SparseSegmentSqrtN`.
    """
    if ids.ndim != 1 or len(ids) != len(data):
        raise InvalidArgumentError(
            "segment ids must be a vector as long as the data has rows, got shape "
            f"{list(ids.shape)} and {len(data)} rows"
        )
    last = max(int(ids[-1]) + 1, 0) if len(ids) else 0
    count = last if num_segments is None else num_segments
    neutral = 1 if how == "prod" else 0
    compute = computed_in(data.dtype)
    out = np.full((count, *data.shape[1:]), neutral, compute)
    if len(ids):
        starts = np.flatnonzero(ids[1:] != ids[:-1]) + 1
        if ids[-1] < 0:
            raise InvalidArgumentError(f"segment ids must be >= 0, got {ids[-1]}")
        if (ids[1:] < ids[:-1]).any():
            raise InvalidArgumentError("segment ids are not increasing: they must be sorted")
        if ids[0] < 0:
            raise InvalidArgumentError(
                f"segment ids must be >= 0, got {ids[0]}: Segment id {ids[0]} out of range "
                f"[0, {count}), possibly because 'segment_ids' input is not sorted."
            )
        if last > count:
            raise InvalidArgumentError(
                f"segment ids must be below the number of segments, got {last - 1} and {count}"
            )
        starts = np.concatenate(([0], starts))
        ufunc = _UFUNCS.get(how, np.add)
        # NumPy would accumulate narrow integers in wider ones, with another mean.
        narrow = data.astype(compute, copy=False)
        made = _by_rows(narrow, starts, ufunc)
        rows: Array = (
            ufunc.reduceat(narrow, starts, axis=0, dtype=narrow.dtype) if made is None else made
        )
        if how in ("mean", "sqrt_n"):
            sizes = np.diff(starts, append=len(ids)).reshape(-1, *(1,) * (data.ndim - 1))
            rows = _divided(rows, sizes if how == "mean" else np.sqrt(sizes))
        out[ids[starts]] = rows
    return out.astype(data.dtype, copy=False)


def _by_rows(data: Array, starts: Indices, ufunc: np.ufunc) -> Array | None:
    """The reductions of sorted groups by compiled code; None where NumPy must do it.

    Args:
        data: [n, ...], with one group after the other.
        starts: [groups], the first row of each.
        ufunc: how rows are reduced.

    Returns:
        [groups, ...], dtype of data.
    """
    kernel = compiled.made("combine_rows")
    rows = data.reshape(len(data), math.prod(data.shape[1:]))
    if data.dtype != np.float32 or not data.size or kernel is None or not _are_readable(rows):
        return None
    out = np.full((len(starts), rows.shape[1]), _NEUTRAL[ufunc], np.float32)
    places = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(data)))
    _combine_rows(out, places, rows, ufunc)
    return out.reshape(len(starts), *data.shape[1:])


def _divided(rows: Array, by: Array) -> Array:
    """The quotient; integers are truncated towards 0, as in TensorFlow."""
    if rows.dtype.kind in "iu":
        divisor = by.astype(rows.dtype)
        quotient: Array = rows // divisor
        quotient += (rows < 0) & (rows % divisor != 0)
        return quotient
    return np.asarray(np.divide(rows, by.astype(rows.dtype)))


def unsorted_segment_reduce(data: Array, ids: Indices, num_segments: int, how: Reduction) -> Array:
    """Rows with the same id reduced to one row; the ids come in any order.

    Args:
        data: [*ids.shape, ...].
        ids: any shape; rows with a negative id are left out.
        num_segments: rows of the result.
        how: "sum", "prod", "max" or "min".

    Returns:
        [num_segments, ...], dtype of data. A segment without rows is 0 for "sum", 1 for "prod", the
        lowest finite value for "max", the highest for "min".

    Raises:
        InvalidArgumentError: an id is not below `num_segments`, or the shapes do not fit.

    Source:
        TensorFlow ops `UnsortedSegmentSum`, `UnsortedSegmentProd`, `UnsortedSegmentMax`,
        `UnsortedSegmentMin`.
    """
    if data.shape[: ids.ndim] != ids.shape:
        raise InvalidArgumentError(
            "data must start with the shape of the segment ids, got "
            f"{list(data.shape)} and {list(ids.shape)}"
        )
    if num_segments < 0:
        raise InvalidArgumentError(f"num_segments must not be negative, got {num_segments}")
    inner = data.shape[ids.ndim :]
    flat_ids = ids.reshape(-1)
    rows = data.reshape(len(flat_ids), math.prod(inner))
    summed = _summed(flat_ids, rows, num_segments) if how == "sum" else None
    if summed is not None:
        return summed.reshape(num_segments, *inner)
    if len(flat_ids):
        if flat_ids.max() >= num_segments:
            first = int(np.argmax(flat_ids >= num_segments))
            at = [int(i) for i in np.unravel_index(first, ids.shape)]
            raise InvalidArgumentError(
                f"segment_ids[{','.join(map(str, at))}] = {flat_ids[first]} is out of range "
                f"[0, {num_segments}), the number of segments"
            )
        if flat_ids.min() < 0:
            keep = flat_ids >= 0
            flat_ids, rows = flat_ids[keep], rows[keep]
    compute = computed_in(data.dtype)
    out = np.full((num_segments, rows.shape[1]), _neutral(how, data.dtype), compute)
    _combine_rows(out, flat_ids, rows.astype(compute, copy=False), _UFUNCS[how])
    return out.reshape(num_segments, *inner).astype(data.dtype, copy=False)


def _summed(ids: Indices, rows: Array, count: int) -> Array | None:
    """Sums of float32 rows by compiled code, which checks ids while it adds.

    Args:
        ids: [n].
        rows: [n, width].
        count: rows of the result.

    Returns:
        [count, width]; None where there is no such code, or an id is not below `count`.
    """
    if rows.dtype != np.float32 or rows.size == 0:
        return None
    kernel = compiled.made("add_rows")
    if kernel is None or not _are_readable(rows):
        return None
    size = count * rows.shape[1]
    if size <= _MOST_LENT:
        out = recycling.empty((count, rows.shape[1]), np.float32)
        out.fill(0)
    else:  # larger results are allocated by NumPy
        out = np.zeros((count, rows.shape[1]), np.float32)
    places = np.ascontiguousarray(ids, np.int64)
    outside = kernel(places, rows, out.reshape(-1), rows.shape[1])
    return out if outside < 0 else None


def _neutral(how: Reduction, dtype: np.dtype[Any]) -> Any:
    if how == "sum":
        return 0
    if how == "prod":
        return 1
    low = lowest(dtype)
    if how == "max":
        return low
    return dtype.type(np.iinfo(dtype).max) if dtype.kind in "iu" else -low


def _combine_rows(out: Array, places: Indices, rows: Array, ufunc: np.ufunc) -> None:
    """out[places] = ufunc(out[places], rows), one after the other for repeated indices.

    Args:
        out: [m, width], C-contiguous.
        places: [n], from 0 to m - 1.
        rows: [n, width].
        ufunc: a function of two arguments.
    """
    width = out.shape[1]
    if width == 0 or len(places) == 0:
        return
    kernel = compiled.made("add_rows" if ufunc is np.add else "combine_rows")
    plain = rows.dtype == out.dtype == np.float32 and (ufunc is np.add or ufunc in _NUMBERS)
    if kernel is None or not plain or not _are_readable(rows):
        _combine_numbers(out, places, rows, ufunc)
        return
    how = () if ufunc is np.add else (_NUMBERS[ufunc],)
    kernel(*how, np.ascontiguousarray(places, np.int64), rows, out.reshape(-1), width)


def _are_readable(rows: Array) -> bool:
    """Whether each row is contiguous; gradients of concatenations are columns of a matrix."""
    return rows.flags.aligned and (rows.shape[1] == 1 or rows.strides[1] == rows.itemsize)


def _combine_numbers(out: Array, places: Indices, rows: Array, ufunc: np.ufunc) -> None:
    """`_combine_rows`, element by element."""
    width = out.shape[1]
    flat = places if width == 1 else (places[:, None] * np.intp(width) + np.arange(width))
    ufunc.at(out.reshape(-1), flat.reshape(-1).astype(np.intp, copy=False), rows.reshape(-1))


def add_weighted_rows(
    out: Array, places: Indices, sources: Indices, weights: Array, rows: Array
) -> bool:
    """out[places] += weights * rows[sources] by compiled code, one after the other.

    Args:
        out: [m, width], C-contiguous.
        places: [n], from 0 to m - 1.
        sources: [n], from 0 to the number of rows - 1.
        weights: [n].
        rows: [..., width].

    Returns:
        Whether there is such code for these arrays; else nothing was added.
    """
    kernel = compiled.made("add_weighted_rows")
    plain = out.dtype == rows.dtype == weights.dtype == np.float32 and _are_readable(rows)
    if kernel is None or not plain or not rows.size:
        return False
    given = (np.ascontiguousarray(one, np.int64) for one in (places, sources))
    kernel(*given, np.ascontiguousarray(weights), rows, out.reshape(-1), out.shape[1])
    return True


def flat_places(indices: Indices, shape: Sequence[int]) -> npt.NDArray[np.intp]:
    """The row numbers of index tuples.

    Args:
        indices: [..., k], each a place in the first k axes.
        shape: shape of the array that is indexed, rank at least k.

    Returns:
        [number of tuples].

    Raises:
        InvalidArgumentError: a tuple points outside.
    """
    depth = indices.shape[-1]
    if depth > len(shape):
        raise InvalidArgumentError(
            f"index tuples must not be longer than the rank, got {depth} and shape {list(shape)}"
        )
    tuples = indices.reshape(math.prod(indices.shape[:-1]), depth)
    outside = (tuples < 0) | (tuples >= np.array(shape[:depth], np.int64))
    if outside.any():
        first = int(np.argmax(outside.any(axis=1)))
        at = [int(i) for i in np.unravel_index(first, indices.shape[:-1])]
        raise InvalidArgumentError(
            f"indices{at} = {tuples[first].tolist()} does not index into shape {list(shape)}"
            + (": Indices and updates specified for empty output" if 0 in shape else "")
        )
    places = np.zeros(len(tuples), np.intp)
    for axis in range(depth):
        places *= shape[axis]
        places += tuples[:, axis].astype(np.intp, copy=False)
    return places


def scatter_nd(indices: Indices, updates: Array, shape: Sequence[int]) -> Array:
    """Zeros of `shape` with updates added at their indices.

    Args:
        indices: [*batch, k].
        updates: [*batch, *shape[k:]].
        shape: shape of the result.

    Returns:
        `shape`, dtype of updates; updates of the same place add up.

    Raises:
        InvalidArgumentError: a tuple points outside, or the shapes do not fit.

    Source:
        TensorFlow op `ScatterNd`.
    """
    out = np.zeros(tuple(shape), computed_in(updates.dtype))
    scatter_into(out, indices, updates, "add")
    return out.astype(updates.dtype, copy=False)


def scattered(x: Array, indices: Indices, updates: Array, how: Scatter) -> Array:
    """A copy of x with updates applied at their indices.

    Args:
        x: any shape.
        indices: [*batch, k].
        updates: [*batch, *x.shape[k:]].
        how: "update" (of the same place, the last stays), "add", "sub", "max" or "min".

    Returns:
        Shape and dtype of x.

    Raises:
        InvalidArgumentError: a tuple points outside, or the shapes do not fit.

    Source:
        TensorFlow ops `TensorScatterUpdate`, `TensorScatterAdd`, `TensorScatterSub`,
        `TensorScatterMax`, `TensorScatterMin`.
    """
    out = x.astype(x.dtype if how == "update" else computed_in(x.dtype), order="C")
    scatter_into(out, indices, updates, how)
    return out.astype(x.dtype, copy=False)


def may_be_into(x: Array, how: Scatter) -> bool:
    """Whether `scatter_into` equals `scattered`: short floats need wider sums."""
    return bool(x.flags.c_contiguous) and (how == "update" or computed_in(x.dtype) == x.dtype)


def scatter_into(x: Array, indices: Indices, updates: Array, how: Scatter) -> None:
    """Like `scattered`, in x itself, which must be C-contiguous.

    Args:
        x: any shape; written.
        indices: [*batch, k].
        updates: [*batch, *x.shape[k:]].
        how: as for `scattered`.

    Raises:
        InvalidArgumentError: a tuple points outside, or the shapes do not fit; x is as it was.
    """
    depth = indices.shape[-1]
    places = flat_places(indices, x.shape)
    expected = (*indices.shape[:-1], *x.shape[depth:])
    if updates.shape != expected:
        raise InvalidArgumentError(
            f"updates must have shape {list(expected)}, that of the indices and of the slices, "
            f"got {list(updates.shape)}"
        )
    rows, width = math.prod(x.shape[:depth]), math.prod(x.shape[depth:])
    target = x.reshape(rows, width)
    values = updates.reshape(len(places), width).astype(x.dtype, copy=False)
    if how == "update":
        # NumPy writes in order, so that of duplicates the last one remains.
        target[places] = values
    elif (x.dtype == object or x.dtype.kind == "b") and how == "add":
        np.add.at(target, places, values)  # sum of strings: concatenation; of bools: or
    elif x.dtype == object or x.dtype.kind == "b":
        raise InvalidArgumentError(f"scatter {how}: dtype must be numeric, got {x.dtype}")
    else:
        _combine_rows(target, places, values, _UFUNCS[how])
