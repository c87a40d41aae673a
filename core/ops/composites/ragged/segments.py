"""Segment reductions and counts of ragged tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import casting
from pinnace.ops.composites.checks import require_equal
from pinnace.ops.composites.ragged.reduction import segment
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.math import segments

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = [
    "bincount",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
]


def bincount(arr: Any, *args: Any, **options: Any) -> Tensor:
    """The number of occurrences of 0, 1, 2, …, in all rows or in each."""
    from pinnace.ops.composites.sparse.counting import bincount_dense

    return bincount_dense(arr, *args, **options)


def _segments(over: Any, data: Any, segment_ids: Any, num_segments: Any) -> Any:
    """Ragged ids assign values to segments; a vector of ids assigns rows."""
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
    """The sum of each segment, divided by the root of its size."""
    del name
    return _segments(segments.unsorted_segment_sqrt_n, data, segment_ids, num_segments)
