"""Sums, means and extremes over ragged axes; cumulative sums and softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.tensor import Operands
from pinnace.ops.array import (
    casting,
    constants,
    gathering,
    identities,
    joining,
    reshaping,
    selecting,
)
from pinnace.ops.composites.ragged.construction import range as ragged_range
from pinnace.ops.composites.ragged.elementwise import elementwise
from pinnace.ops.composites.ragged.shaping import expand_dims
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.math import (
    arithmetic,
    comparison,
    cumulation,
    division,
    exponents,
    reduction,
    segments,
    statistics,
)
from pinnace.ops.nn import softmaxes

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "cumsum",
    "over_one",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
    "segment",
    "softmax",
]


def _axes(axis: Any, rank: int | None, who: str) -> list[int] | None:
    """The axes, innermost first; None for all."""
    if axis is None:
        return None
    if isinstance(axis, Operands):
        axis = np.asarray(axis._array).tolist()  # type: ignore[attr-defined]
    given = list(axis) if isinstance(axis, (list, tuple, np.ndarray)) else [axis]
    found = set()
    for one in given:
        if rank is None and one < 0:
            raise ValueError(f"{who}: axis must not be negative where the rank is unknown")
        if rank is not None and not -rank <= one < rank:
            raise ValueError(f"{who}: axis must be in [{-rank}, {rank}), got {one}")
        found.add(int(one) if rank is None else int(one) % rank)
    if rank is not None and len(found) == rank:
        return None
    return sorted(found, reverse=True)


def _reduced(
    x: RaggedTensor, axis: Any, keepdims: bool, dense: Callable[..., Any], over: Callable[..., Any]
) -> Any:
    axes = _axes(axis, x.shape.rank, dense.__name__)
    if axes is None:
        total = dense(x.flat_values, None)
        if not keepdims:
            return total
        return reshaping.reshape(total, [1] * (x.shape.rank or 0))
    result: Any = x
    for one in axes:
        result = over_one(result, one, dense, over)
        if keepdims:
            result = expand_dims(result, one)
    return result


def over_one(x: Any, axis: int, dense: Callable[..., Any], over: Callable[..., Any]) -> Any:
    """`x` reduced over one axis.

    Args:
        x: a tensor or ragged tensor.
        axis: the axis, not negative.
        dense: reduces a tensor over an axis.
        over: `unsorted_segment_sum` or its kin.
    """
    if not isinstance(x, RaggedTensor):
        return dense(x, axis)
    if axis == 0:
        lengths = x.row_lengths()
        kind = x.row_splits.dtype
        columns = ragged_range(lengths, row_splits_dtype=kind).values
        zero = np.zeros(1, kind.numpy)
        count = reduction.reduce_max(joining.concat([zero, lengths], 0))
        return segment(over, x.values, columns, count)
    if axis == 1:
        return segment(over, x.values, x.value_rowids(), x.nrows())
    return x.with_values(over_one(x.values, axis - 1, dense, over))


def segment(over: Callable[..., Any], values: Any, ids: Any, count: Any) -> Any:
    """The rows of `values` with the same id reduced to one row, place by place.

    Args:
        over: `unsorted_segment_sum` or its kin.
        values: [n, ...], tensor or ragged tensor.
        ids: [n], integers from 0 to count - 1.
        count: rows of the result.
    """
    if not isinstance(values, RaggedTensor):
        return over(values, ids, count)
    kind = values.row_splits.dtype
    ids = casting.cast(ids, kind)
    lengths = values.row_lengths()
    longest = segments.unsorted_segment_max(lengths, ids, count)
    # The maximum over no rows is the lowest integer.
    longest = arithmetic.maximum(longest, casting.cast(0, kind))
    out = RaggedTensor.from_row_lengths(
        constants.zeros([reduction.reduce_sum(longest)], kind), longest, validate=False
    )
    columns = ragged_range(lengths, row_splits_dtype=kind).values
    starts = gathering.gather(out.row_splits[:-1], ids)
    places = arithmetic.add(gathering.gather(starts, values.value_rowids()), columns)
    total = out.row_splits[-1]
    return out.with_values(segment(over, values.values, places, total))


def reduce_sum(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The sum over axes."""
    del name
    return _reduced(
        input_tensor, axis, keepdims, reduction.reduce_sum, segments.unsorted_segment_sum
    )


def reduce_prod(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The product over axes."""
    del name
    return _reduced(
        input_tensor, axis, keepdims, reduction.reduce_prod, segments.unsorted_segment_prod
    )


def reduce_max(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The maximum over axes; the lowest value for an empty row."""
    del name
    return _reduced(
        input_tensor, axis, keepdims, reduction.reduce_max, segments.unsorted_segment_max
    )


def reduce_min(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The minimum over axes; the highest value for an empty row."""
    del name
    return _reduced(
        input_tensor, axis, keepdims, reduction.reduce_min, segments.unsorted_segment_min
    )


def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The mean over axes: sum / number, as real numbers; NaN for a row of none."""
    del name
    x = input_tensor
    if _axes(axis, x.shape.rank, "reduce_mean") is None and not x.dtype.is_integer:
        return _reduced(x, axis, keepdims, reduction.reduce_mean, segments.unsorted_segment_mean)
    total = reduce_sum(x, axis, keepdims)
    ones = x.with_flat_values(constants.ones_like(x.flat_values))
    count = reduce_sum(ones, axis, keepdims)
    if isinstance(total, RaggedTensor):
        return elementwise(division.truediv, total, count)
    return division.truediv(total, count)


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The variance over axes."""
    del name
    x = input_tensor
    if _axes(axis, x.shape.rank, "reduce_variance") is None:
        return _reduced(
            x, axis, keepdims, statistics.reduce_variance, segments.unsorted_segment_mean
        )
    squares = reduce_mean(x.with_flat_values(arithmetic.square(x.flat_values)), axis, keepdims)
    mean = reduce_mean(x, axis, keepdims)
    if isinstance(mean, RaggedTensor):
        return elementwise(lambda a, b: arithmetic.subtract(a, arithmetic.square(b)), squares, mean)
    return arithmetic.subtract(squares, arithmetic.square(mean))


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The root of the variance over axes."""
    return _each(exponents.sqrt, reduce_variance(input_tensor, axis, keepdims, name))


def reduce_logsumexp(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """`log Σ exp(x)` over axes, without overflow."""
    del name

    def shift(x: Any) -> Any:
        finite = selecting.where(comparison.is_finite(x), x, constants.zeros_like(x))
        return identities.stop_gradient(finite)

    largest = _each(shift, reduce_max(input_tensor, axis, True))
    scaled = _each(lambda x, y: exponents.exp(x - y), input_tensor, largest)
    total = reduce_sum(scaled, axis, keepdims)
    if not keepdims:
        largest = _each(shift, reduce_max(input_tensor, axis))
    return _each(lambda x, y: exponents.log(x) + y, total, largest)


def _each(function: Callable[..., Any], *xs: Any) -> Any:
    is_ragged = any(isinstance(x, RaggedTensor) for x in xs)
    return elementwise(function, *xs) if is_ragged else function(*xs)


def reduce_all(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Whether all are true, over axes."""
    del name
    return _of_bools(input_tensor, axis, keepdims, reduce_prod)


def reduce_any(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Whether any is true, over axes."""
    del name
    return _of_bools(input_tensor, axis, keepdims, reduce_sum)


def _of_bools(x: RaggedTensor, axis: Any, keepdims: bool, reduce: Callable[..., Any]) -> Any:
    numbers = x.with_flat_values(casting.cast(x.flat_values, dtypes.int32))
    found = reduce(numbers, axis, keepdims)
    if isinstance(found, RaggedTensor):
        return found.with_flat_values(casting.cast(found.flat_values, dtypes.bool))
    return casting.cast(found, dtypes.bool)


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """The cumulative sum along rows, or along an axis of the flat values."""
    at = int(axis) % x.shape.rank
    if at > x.ragged_rank:
        inner = at - x.ragged_rank
        flat = cumulation.cumsum(x.flat_values, inner, exclusive, reverse, name)
        return x.with_flat_values(flat)
    if at == 0:
        raise ValueError("cumsum: axis must not be 0 for ragged tensors, whose rows differ")
    return _running(x, at, exclusive, reverse)


def _running(x: Any, at: int, exclusive: bool, reverse: bool) -> Any:
    if at > 1:
        return x.with_values(_running(x.values, at - 1, exclusive, reverse))
    if isinstance(x.values, RaggedTensor):
        raise ValueError("cumsum: only the innermost ragged axis has running sums")  # noqa: TRY004 (TensorFlow's class)
    # The running sum over all values, minus the sum before the row.
    before = cumulation.cumsum(x.values, 0, exclusive=True)
    rows = x.value_rowids()
    if reverse:
        after = cumulation.cumsum(x.values, 0, exclusive=True, reverse=True)
        last = arithmetic.subtract(x.row_splits[1:], casting.cast(1, x.row_splits.dtype))
        base = gathering.gather(after, gathering.gather(last, rows))
        own = arithmetic.subtract(after, base)
    else:
        base = gathering.gather(before, gathering.gather(x.row_splits[:-1], rows))
        own = arithmetic.subtract(before, base)
    return x.with_values(own if exclusive else arithmetic.add(own, x.values))


def softmax(logits: Any, axis: Any = None, name: str | None = None) -> Any:
    """exp(logits) divided by its sum along the last axis."""
    at = -1 if axis is None else int(axis)
    deepest = logits.shape.rank
    if deepest is not None:
        at %= deepest
    if at in {-1, deepest} or (deepest is not None and at > logits.ragged_rank):
        inner = -1 if at == -1 else at - logits.ragged_rank
        if (logits.flat_values.shape.rank or 1) > 1:
            return logits.with_flat_values(softmaxes.softmax(logits.flat_values, inner, name))
    # Subtract each row's maximum, so that exp does not overflow.
    top = reduce_max(logits, at, keepdims=True)
    powers = elementwise(lambda x, m: exponents.exp(arithmetic.subtract(x, m)), logits, top)
    total = reduce_sum(powers, at, keepdims=True)
    return elementwise(division.divide, powers, total)
