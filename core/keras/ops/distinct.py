"""`unique`: distinct elements, or distinct slices along an axis."""

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
    permutations,
    reshaping,
    shapes,
    sorting,
)
from pinnace.ops.execute import execute
from pinnace.ops.math import arithmetic, ranges, segments

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


@operation(
    "numpy",
    "Unique",
    *("sorted", "return_index", "return_inverse", "return_counts", "axis", "size", "fill_value"),
)
def unique(
    x: Any,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The distinct values, or the distinct slices along an axis.

    Args:
        x: [...].
        sorted: whether they come in ascending order, slices by their first elements first; else
            in the order of their first appearance.
        return_index: whether to return the index of the first occurrence of each.
        return_inverse: whether to return, for each value, its index among them.
        return_counts: whether to return the number of occurrences of each.
        axis: axis of the slices; all elements if None.
        size: how many are given: the first ones, or `fill_value` behind them.
        fill_value: the value that fills up to `size`; 0 if None.

    Returns:
        The values [n] or slices; with options, a tuple of them and, int32, the requested indices
        [n], inverse indices (the shape of `x`, or [its size along `axis`]) and counts [n].
    """
    given: Tensor = convert_to_tensor(x)
    tensor = reshaping.reshape(given, [-1]) if axis is None else given
    at = 0 if axis is None else axis % (given.shape.rank or 1)
    values, inverse, counts = execute(
        duplicates.UNIQUE_WITH_COUNTS_V2, tensor, [at], out_idx=dtypes.int32
    )
    count = shapes.shape(values)[at]
    places = ranges.range(shapes.shape(tensor)[at])
    firsts = segments.unsorted_segment_min(places, inverse, count)
    if sorted:
        order = _order(values, at)
        values = gathering.gather(values, order, axis=at)
        firsts, counts = (gathering.gather(part, order) for part in (firsts, counts))
        inverse = gathering.gather(permutations.invert_permutation(order), inverse)
    if size is not None:
        values = _sized(values, at, size, 0 if fill_value is None else fill_value)
        # Keras: padding entries have index 1 and count 0.
        firsts, counts = _sized(firsts, 0, size, 1), _sized(counts, 0, size, 0)
    if axis is None:
        inverse = reshaping.reshape(inverse, shapes.sizes(given))
    asked = (return_index, firsts), (return_inverse, inverse), (return_counts, counts)
    results = [values, *(part for wanted, part in asked if wanted)]
    return tuple(results) if len(results) > 1 else values


def _order(values: Tensor, axis: int) -> Tensor:
    """The indices of slices in lexicographic order."""
    if values.dtype is dtypes.bool:
        values = casting.cast(values, dtypes.int32)
    rank = values.shape.rank or 1
    if rank == 1:
        return sorting.argsort(values, stable=True)
    front = [axis, *(place for place in range(rank) if place != axis)]
    rows = permutations.transpose(values, front)
    count = shapes.shape(rows)[0]
    rows = reshaping.reshape(rows, [count, -1])

    def left(column: Tensor, order: Tensor) -> Tensor:
        del order
        return column >= 0

    def by_column(column: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
        keys = gathering.gather(gathering.gather(rows, column, axis=1), order)
        return column - 1, gathering.gather(order, sorting.argsort(keys, stable=True))

    # A stable sort from the last column to the first keeps the order of later columns among ties.
    start = shapes.shape(rows)[1] - 1
    found: Tensor = looping.while_loop(left, by_column, [start, ranges.range(count)])[1]
    return found


def _sized(values: Tensor, axis: int, size: int, fill: Any) -> Tensor:
    count = shapes.shape(values)[axis]
    kept = gathering.gather(values, ranges.range(arithmetic.minimum(count, size)), axis=axis)
    more = arithmetic.maximum(size - count, 0)
    rank = values.shape.rank or 1
    pads = joining.stack(
        [joining.stack([0, more]) if place == axis else [0, 0] for place in range(rank)]
    )
    filled = padding.pad(kept, pads, "CONSTANT", casting.cast(fill, values.dtype))
    known = values.shape.as_list()
    known[axis] = size
    return shapes.ensure_shape(filled, known)
