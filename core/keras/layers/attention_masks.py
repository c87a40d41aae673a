"""Masks of attention, [batch, query steps, value steps]: the values a query may attend to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.ops.array import casting, constants, permutations, reshaping, selecting, shapes
from pinnace.ops.math import comparison, logic, polar, ranges, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def causal(scores: Tensor, rows: int, columns: int) -> Tensor:
    """[1, t, s]: whether step s is not after step t."""
    sizes = shapes.shape(scores)
    return _not_after(sizes[rows], sizes[columns])


def causal_between(query: Tensor, value: Tensor) -> Tensor:
    """[1, t, s]: whether step s of the values is not after step t of the query."""
    return _not_after(shapes.shape(query)[1], shapes.shape(value)[1])


def _not_after(rows: Tensor, columns: Tensor) -> Tensor:
    first = reshaping.reshape(ranges.range(rows), [1, -1, 1])
    second = reshaping.reshape(ranges.range(columns), [1, 1, -1])
    return comparison.greater_equal(first, second)


def near_between(query: Tensor, value: Tensor, window: int) -> Tensor:
    """[1, t, s]: whether the steps of query and values are less than `window` apart."""
    rows = reshaping.reshape(ranges.range(shapes.shape(query)[1]), [1, -1, 1])
    columns = reshaping.reshape(ranges.range(shapes.shape(value)[1]), [1, 1, -1])
    return comparison.less(polar.abs(rows - columns), window)


def check_window(who: str, sliding_window: Any) -> None:
    """Check that a window is a number of steps.

    Raises:
        ValueError: neither None nor an integer of at least 1.
    """
    whole = isinstance(sliding_window, int) and not isinstance(sliding_window, bool)
    if sliding_window is not None and (not whole or sliding_window < 1):
        raise ValueError(
            f"{who}: sliding_window must be an integer of at least 1, or None, "
            f"got {sliding_window!r}"
        )


def joined_masks(attention_mask: Any, query_mask: Any, value_mask: Any, key_mask: Any) -> Any:
    """[batch, query steps, value steps], sizes may be 1: the conjunction of all masks; or None."""
    seen = None if attention_mask is None else casting.cast(attention_mask, "bool")
    for mask, axis in ((query_mask, -1), (value_mask, -2), (key_mask, -2)):
        if mask is not None:
            seen = both(seen, reshaping.expand_dims(casting.cast(mask, "bool"), axis))
    return seen


def both(x: Any, y: Tensor) -> Tensor:
    """The conjunction of two masks; x may be None."""
    return y if x is None else logic.logical_and(x, y)


def zero_where_none(joined: Tensor, seen: Tensor, steps: int) -> Tensor:
    """Attention results, with 0 for queries without any visible key.

    Args:
        joined: [batch, steps of queries..., heads, size].
        seen: bool, [batch, heads or 1, steps of queries..., steps of keys...].
        steps: how many axes of steps there are.
    """
    some = reduction.reduce_any(seen, list(range(-steps, 0)))
    rank = len(some.shape)
    first = rank - steps - 1  # the axis of heads
    order = [*range(first), *range(first + 1, rank), first]
    some = reshaping.expand_dims(permutations.transpose(some, order), -1)
    return selecting.where(some, joined, constants.zeros_like(joined))
