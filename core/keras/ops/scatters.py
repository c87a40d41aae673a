"""Scatter ops and segment reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.functions.control import looping
from pinnace.keras.ops.operation import operation
from pinnace.ops.array import (
    casting,
    duplicates,
    gathering,
    joining,
    padding,
    reshaping,
    scattering,
    selecting,
    shapes,
)
from pinnace.ops.array import constants as _constants
from pinnace.ops.math import clipping, reduction, segments

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor


@operation("core", "Scatter", "shape")
def scatter(indices: Any, values: Any, shape: Any) -> Tensor:
    """Zeros with values at indices; values of duplicate indices are added.

    Args:
        indices: [..., k], integers: the first k coordinates of each place.
        values: [..., *shape[k:]].
        shape: sizes of the result.

    Returns:
        The shape `shape`, dtype of `values`.
    """
    return scattering.scatter_nd(indices, values, shape)


@operation("core", "ScatterUpdate", "reduction")
def scatter_update(inputs: Any, indices: Any, updates: Any, reduction: str | None = None) -> Tensor:
    """The input with other values at given indices.

    Args:
        inputs: [...].
        indices: [n, k], integers: the first k coordinates of each place.
        updates: [n, *the other axes], dtype of `inputs`.
        reduction: None puts them there; "add", "max", "min" and "mul" join them with what is
            there, and with each other where a place is named twice.

    Returns:
        The shape and dtype of `inputs`.

    Raises:
        ValueError: unknown reduction.
    """
    ways: dict[str | None, Callable[..., Tensor]] = {
        None: scattering.tensor_scatter_nd_update,
        "add": scattering.tensor_scatter_nd_add,
        "max": scattering.tensor_scatter_nd_max,
        "min": scattering.tensor_scatter_nd_min,
        "mul": _multiplied,
    }
    if reduction not in ways:
        raise ValueError(
            f"keras.ops.scatter_update: reduction must be None, add, max, min or mul, got "
            f"{reduction!r}"
        )
    return ways[reduction](inputs, indices, updates)


def _multiplied(inputs: Any, indices: Any, updates: Any) -> Tensor:
    """Multiply one update after the other, so that repeated indices multiply repeatedly."""
    places, factors = convert_to_tensor(indices), convert_to_tensor(updates)
    count = shapes.shape(places)[0]

    def left(index: Tensor, made: Tensor) -> Tensor:
        del made
        return index < count

    def step(index: Tensor, made: Tensor) -> tuple[Tensor, Tensor]:
        place = places[index]
        product = gathering.gather_nd(made, place) * factors[index]
        written = scattering.tensor_scatter_nd_update(
            made, reshaping.expand_dims(place, 0), reshaping.expand_dims(product, 0)
        )
        return index + 1, written

    found: Tensor = looping.while_loop(left, step, [0, convert_to_tensor(inputs)])[1]
    return found


@operation("core", "SliceUpdate")
def slice_update(inputs: Any, start_indices: Any, updates: Any) -> Tensor:
    """The input with a block replaced.

    Args:
        inputs: [...].
        start_indices: the first place of the block along each axis; moved back where the block
            would not fit.
        updates: the block, of as many axes, nowhere larger; dtype of `inputs`.

    Returns:
        The shape and dtype of `inputs`.
    """
    tensor, block = convert_to_tensor(inputs), convert_to_tensor(updates)
    size, wide = shapes.shape(tensor), shapes.shape(block)
    starts = start_indices
    if isinstance(starts, (list, tuple)):
        starts = joining.stack([casting.cast(n, dtypes.int32) for n in starts])
    first = clipping.clip_by_value(casting.cast(starts, dtypes.int32), 0, size - wide)
    pads = joining.stack([first, size - wide - first], axis=1)
    inside = padding.pad(_constants.ones_like(block, dtypes.int32), pads) > 0
    made = selecting.where(inside, padding.pad(block, pads), tensor)
    made.set_shape(tensor.shape)
    return made


def _by_segments(
    name: str,
    ways: tuple[Callable[..., Tensor], Callable[..., Tensor]],
    data: Any,
    segment_ids: Any,
    num_segments: Any,
    sorted: bool,
) -> Tensor:
    in_order, in_any_order = ways
    if sorted:
        if num_segments is not None:
            raise ValueError(
                f"keras.ops.{name}: num_segments must be None where sorted is True, got "
                f"{num_segments!r}\n  Try: sorted=False"
            )
        return in_order(data, segment_ids)
    ids: Tensor = convert_to_tensor(segment_ids)
    if num_segments is None:
        # Keras: sums get one segment per distinct id; other reductions get max(id) + 1 segments.
        if name == "segment_sum":
            num_segments = shapes.shape(duplicates.unique(ids).y)[0]
        else:
            num_segments = casting.cast(reduction.reduce_max(ids) + 1, dtypes.int32)
    return in_any_order(data, ids, num_segments)


@operation("math", "SegmentSum", "num_segments", "sorted")
def segment_sum(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> Tensor:
    """The sums of the rows of each segment.

    Args:
        data: [n, ...], a number type.
        segment_ids: [n], integers, not negative.
        num_segments: rows of the result; as many as there are different numbers if None.
        sorted: whether the numbers are ascending; then `num_segments` must be None.

    Returns:
        [num_segments, ...], dtype of `data`.
    """
    ways = segments.segment_sum, segments.unsorted_segment_sum
    return _by_segments("segment_sum", ways, data, segment_ids, num_segments, sorted)


@operation("math", "SegmentMax", "num_segments", "sorted")
def segment_max(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> Tensor:
    """The maxima of the rows of each segment; the dtype's lowest value for an empty one.

    Args:
        data: [n, ...], a real number type.
        segment_ids: [n], integers, not negative.
        num_segments: rows of the result; up to the largest number if None.
        sorted: whether the numbers are ascending; then `num_segments` must be None.

    Returns:
        [num_segments, ...], dtype of `data`.
    """
    ways = segments.segment_max, segments.unsorted_segment_max
    return _by_segments("segment_max", ways, data, segment_ids, num_segments, sorted)


@operation("math", "SegmentMin", "num_segments", "sorted")
def segment_min(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> Tensor:
    """The minima of the rows of each segment; the dtype's highest value for an empty one.

    Args:
        data: [n, ...], a real number type.
        segment_ids: [n], integers, not negative.
        num_segments: rows of the result; up to the largest number if None.
        sorted: whether the numbers are ascending; then `num_segments` must be None.

    Returns:
        [num_segments, ...], dtype of `data`.
    """
    ways = segments.segment_min, segments.unsorted_segment_min
    return _by_segments("segment_min", ways, data, segment_ids, num_segments, sorted)


@operation("math", "SegmentProd", "num_segments", "sorted")
def segment_prod(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> Tensor:
    """The products of the rows of each segment.

    Args:
        data: [n, ...], a number type.
        segment_ids: [n], integers, not negative.
        num_segments: rows of the result; up to the largest number if None.
        sorted: whether the numbers are ascending; then `num_segments` must be None.

    Returns:
        [num_segments, ...], dtype of `data`.
    """
    ways = segments.segment_prod, segments.unsorted_segment_prod
    return _by_segments("segment_prod", ways, data, segment_ids, num_segments, sorted)
