"""What is left of the functions that take ragged tensors: products, sums, joined strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.ops.array import casting, gathering, selecting, shapes
from pinnace.ops.composites.checks import require_equal
from pinnace.ops.composites.ragged.construction import stack_dynamic_partitions
from pinnace.ops.composites.ragged.elementwise import elementwise
from pinnace.ops.composites.ragged.reduction import reduce_max, reduce_sum, segment
from pinnace.ops.composites.ragged.shaping import expand_dims
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.control import printing
from pinnace.ops.math import (
    arithmetic,
    comparison,
    cumulation,
    division,
    exponents,
    ranges,
    segments,
)
from pinnace.ops.nn import softmaxes
from pinnace.ops.strings import conversion, joining

__all__ = [
    "add_n",
    "bincount",
    "cumsum",
    "dynamic_partition",
    "join",
    "rank",
    "reduce_join",
    "scalar_mul",
    "softmax",
    "tf_print",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
]


def rank(input: Any, name: str | None = None) -> Tensor:
    """How many axes there are."""
    del name
    found = input.shape.rank
    if found is None:
        found = input.ragged_rank + (input.flat_values.shape.rank or 0)
    return convert_to_tensor(np.int32(found))


def bincount(arr: Any, *args: Any, **options: Any) -> Tensor:
    """How often each of 0, 1, 2, … occurs, in all rows or in each."""
    from pinnace.ops.composites.sparse.counting import bincount_dense

    return bincount_dense(arr, *args, **options)


def add_n(inputs: Any, name: str | None = None) -> Any:
    """The sum of ragged tensors with equal rows."""
    return elementwise(lambda *xs: arithmetic.add_n(list(xs), name), *inputs)


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """A ragged tensor times a number."""
    return elementwise(lambda flat: arithmetic.scalar_mul(scalar, flat, name), x)


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """The running sum along an axis below the ragged ones, or along rows."""
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
    # The running sum of all values, less what came before the row.
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


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> Any:
    """Ragged data as one ragged tensor per partition."""
    if not isinstance(num_partitions, int) or num_partitions < 1:
        raise ValueError(
            f"dynamic_partition: num_partitions must be at least 1, got {num_partitions}"
        )
    stacked = stack_dynamic_partitions(data, partitions, num_partitions, name)
    return [stacked[i] for i in range(num_partitions)]


def softmax(logits: Any, axis: Any = None, name: str | None = None) -> Any:
    """exp(logits) over its sum, along the last axis."""
    at = -1 if axis is None else int(axis)
    deepest = logits.shape.rank
    if deepest is not None:
        at %= deepest
    if at in {-1, deepest} or (deepest is not None and at > logits.ragged_rank):
        inner = -1 if at == -1 else at - logits.ragged_rank
        if (logits.flat_values.shape.rank or 1) > 1:
            return logits.with_flat_values(softmaxes.softmax(logits.flat_values, inner, name))
    # The largest of each row first, so that exp does not overflow.
    top = reduce_max(logits, at, keepdims=True)
    powers = elementwise(lambda x, m: exponents.exp(arithmetic.subtract(x, m)), logits, top)
    total = reduce_sum(powers, at, keepdims=True)
    return elementwise(division.divide, powers, total)


def join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    """Strings of several tensors joined, element by element."""
    return elementwise(lambda *xs: joining.join(list(xs), separator, name), *inputs)


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """The strings of each row joined."""
    if axis is None:
        return joining.reduce_join(inputs.flat_values, None, keepdims, separator, name)
    axes = sorted(
        {int(a) % inputs.shape.rank for a in (axis if isinstance(axis, (list, tuple)) else [axis])},
        reverse=True,
    )
    result = inputs
    for one in axes:
        result = _joined(result, one, separator)
        if keepdims:
            result = expand_dims(result, one)
    return result


def _joined(x: Any, axis: int, separator: str) -> Any:
    if not isinstance(x, RaggedTensor):
        return joining.reduce_join(x, axis, separator=separator)
    if axis > 1:
        return x.with_values(_joined(x.values, axis - 1, separator))
    if axis == 1:
        values = x.values
        if isinstance(values, RaggedTensor) or values.shape.rank != 1:
            raise ValueError("reduce_join: rows of single strings are needed to join them")
        # The separator goes with every string but the first of its row; filling adds nothing.
        first = gathering.gather(x.row_splits[:-1], x.value_rowids())
        own = comparison.equal(first, ranges.range(shapes.size(values, first.dtype)))
        with_separator = joining.join([separator, values])
        led = x.with_values(selecting.where(own, values, with_separator))
        return joining.reduce_join(led.to_tensor(b""), 1)
    raise ValueError("reduce_join: axis must not be 0 for ragged tensors, whose rows differ")


def _segments(over: Any, data: Any, segment_ids: Any, num_segments: Any) -> Any:
    """Ragged ids say which segment each value is in; a vector of ids which each row is in."""
    ids = segment_ids
    while isinstance(ids, RaggedTensor):
        if not isinstance(data, RaggedTensor):
            raise ValueError("unsorted_segment: data must be ragged where segment_ids is")  # noqa: TRY004 (TensorFlow's class)
        require_equal(
            casting.cast(data.row_splits, ids.row_splits.dtype),
            ids.row_splits,
            "unsorted_segment: data and segment_ids must have equal row splits",
        )
        data, ids = data.values, ids.values
    return segment(over, data, convert_to_tensor(ids), convert_to_tensor(num_segments))


def unsorted_segment_sum(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """The sum of each segment."""
    del name
    return _segments(segments.unsorted_segment_sum, data, segment_ids, num_segments)


def unsorted_segment_prod(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """The product of each segment."""
    del name
    return _segments(segments.unsorted_segment_prod, data, segment_ids, num_segments)


def unsorted_segment_max(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """The largest of each segment."""
    del name
    return _segments(segments.unsorted_segment_max, data, segment_ids, num_segments)


def unsorted_segment_min(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """The smallest of each segment."""
    del name
    return _segments(segments.unsorted_segment_min, data, segment_ids, num_segments)


def unsorted_segment_mean(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """The mean of each segment."""
    del name
    return _segments(segments.unsorted_segment_mean, data, segment_ids, num_segments)


def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """The sum of each segment over the root of its size."""
    del name
    return _segments(segments.unsorted_segment_sqrt_n, data, segment_ids, num_segments)


def tf_print(*inputs: Any, **options: Any) -> Any:
    """Ragged tensors printed as lists."""
    shown = [
        x if not isinstance(x, RaggedTensor) else _listed(x, options.get("summarize", 3))
        for x in inputs
    ]
    return printing.tf_print(*shown, **options)


def _listed(x: RaggedTensor, summarize: Any) -> Any:
    """The ragged tensor as one string, nested brackets around its rows."""
    if not isinstance(x.flat_values, SymbolicTensor):
        return str(x.to_list()) if x.dtype is not dtypes.string else repr(x.to_list())
    del summarize
    text: Any = x.with_flat_values(_text(x.flat_values))
    while isinstance(text, RaggedTensor):
        flat = reduce_join(text, text.ragged_rank, separator=", ")
        inner = flat.flat_values if isinstance(flat, RaggedTensor) else flat
        bracketed = joining.join(["[", inner, "]"])
        text = flat.with_flat_values(bracketed) if isinstance(flat, RaggedTensor) else bracketed
    joined = joining.reduce_join(text, 0, separator=", ")
    return joining.join(["[", joined, "]"])


def _text(values: Tensor) -> Tensor:
    if values.shape.rank not in {1, None}:
        raise ValueError("print: only ragged tensors of single values can be printed in a graph")
    return values if values.dtype is dtypes.string else conversion.as_string(values)
