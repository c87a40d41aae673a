"""x[key] of ragged tensors: integers, slices, None and `...`, over ragged and other axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Operands, SymbolicTensor
from pinnace.ops.array import casting, gathering, joining, reshaping, selecting, shapes
from pinnace.ops.composites.checks import require_within
from pinnace.ops.composites.ragged.construction import range as ragged_range
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.execute import execute
from pinnace.ops.math import arithmetic, comparison, ranges
from pinnace.ops.ragged import gathering as gathering_ops

__all__ = ["getitem", "rows_at"]

_ALL = slice(None)


def getitem(x: RaggedTensor, key: Any) -> Any:
    """The part of x.

    Raises:
        ValueError: an integer for an axis of rows of different length, or too many items.
        TypeError: an item that is no integer, slice, None or `...`.
    """
    items = list(key) if isinstance(key, (list, tuple)) else [key]
    items = _without_ellipsis(items, x.shape.rank)
    return _outer(x, items)


def _without_ellipsis(items: list[Any], rank: int | None) -> list[Any]:
    at = [i for i, item in enumerate(items) if item is Ellipsis]
    if not at:
        return items
    if len(at) > 1:
        raise ValueError("a ragged tensor's index can have one `...`, got more")
    if rank is None:
        raise ValueError("a ragged tensor of unknown rank cannot be indexed with `...`")
    left = rank - sum(item is not None and item is not Ellipsis for item in items)
    return [*items[: at[0]], *[_ALL] * max(left, 0), *items[at[0] + 1 :]]


def _outer(x: Any, items: list[Any]) -> Any:
    if not items:
        return x
    if not isinstance(x, RaggedTensor):
        return x[tuple(items)]
    first, rest = items[0], items[1:]
    if first is None:
        inner = _outer(x, rest)
        return _below_new_axis(inner)
    if isinstance(first, slice):
        return _inner(_sliced_rows(x, first), rest)
    if isinstance(first, RaggedTensor) or (isinstance(first, np.ndarray) and first.ndim):
        raise TypeError(f"a ragged tensor's index must be integers and slices, got {first!r}")
    begin, end = x.row_splits[:-1][first], x.row_splits[1:][first]
    return _outer(_cut(x.values, begin, end), rest)


def _below_new_axis(inner: Any) -> Any:
    if not isinstance(inner, RaggedTensor):
        return reshaping.expand_dims(inner, 0)
    return (
        RaggedTensor.from_uniform_row_length(inner, inner.nrows(), nrows=1, validate=False)
        if not _count(inner)
        else RaggedTensor.from_uniform_row_length(inner, _count(inner), nrows=1, validate=False)
    )


def _count(x: RaggedTensor) -> int | None:
    rows = x.shape[0]
    return None if rows is None else int(rows)


def _cut(values: Any, begin: Any, end: Any) -> Any:
    """The values from begin to end."""
    if isinstance(values, RaggedTensor):
        return _sliced_rows(values, slice(begin, end))
    return values[begin:end]


def _sliced_rows(x: RaggedTensor, key: slice) -> RaggedTensor:
    """The rows that a slice names."""
    if key.start is None and key.stop is None and key.step is None:
        return x
    if key.step is not None and not (isinstance(key.step, int) and key.step == 1):
        numbers = ranges.range(x.nrows())[key]
        return rows_at(x, numbers)  # type: ignore[no-any-return]
    starts, limits = x.row_splits[:-1][key], x.row_splits[1:][key]
    # No rows: splits that contain only 0.
    zero = np.zeros(1, x.row_splits.dtype.numpy)
    pad = convert_pad(zero, starts)
    splits = joining.concat([pad, starts[:1], limits], 0)
    values = _cut(x.values, splits[0], splits[-1])
    return RaggedTensor(
        values, arithmetic.subtract(splits, splits[0]), internal=True, uniform=x._uniform
    )


def convert_pad(zero: Any, starts: Any) -> Any:
    """`zero` if there are no starts, nothing otherwise."""
    if not isinstance(starts, SymbolicTensor):
        return zero[:1] if not len(starts) else zero[:0]
    count = arithmetic.minimum(shapes.size(starts), 1)
    from pinnace.framework.convert import convert_to_tensor

    return convert_to_tensor(zero)[count:]


def rows_at(x: RaggedTensor, indices: Any) -> Any:
    """The rows at these indices: [*indices.shape, (row), ...]."""
    if not isinstance(indices, Operands):
        from pinnace.framework.convert import convert_to_tensor

        indices = convert_to_tensor(indices)
    rank = indices.shape.rank
    if rank is None:
        raise ValueError("a ragged tensor needs indices of a known rank")
    if rank == 0:
        return _outer(x, [indices])
    splits, values = execute(
        gathering_ops.RAGGED_GATHER,
        list(x.nested_row_splits),
        x.flat_values,
        indices,
        OUTPUT_RAGGED_RANK=x.ragged_rank + rank - 1,
    )
    made = RaggedTensor.from_nested_row_splits(values, list(splits), validate=False)
    _keep_uniform(made, x, rank, indices)
    return made


def _keep_uniform(made: RaggedTensor, x: RaggedTensor, rank: int, indices: Any) -> None:
    """Copy the static shape of the indices, and uniform axes of x, to the result."""
    levels = made._levels()
    for axis in range(1, rank):
        size = indices.shape[axis]
        levels[axis - 1]._uniform = size
    for mine, old in zip(levels[rank - 1 :], x._levels(), strict=True):
        mine._uniform = old._uniform


def _inner(x: Any, items: list[Any]) -> Any:
    """The items applied to the axes after the first."""
    if not items:
        return x
    if not isinstance(x, RaggedTensor):
        return x[(_ALL, *items)]
    first, rest = items[0], items[1:]
    if first is None:
        return RaggedTensor.from_uniform_row_length(
            _inner(x, rest), 1, nrows=x.nrows(), validate=False
        )
    if isinstance(first, slice):
        if first.start is None and first.stop is None and first.step is None:
            return x.with_values(_inner(x.values, rest)) if rest else x
        cut = _sliced_columns(x, first)
        return cut.with_values(_inner(cut.values, rest)) if rest else cut
    if x._uniform is None:
        raise ValueError(
            "Cannot index into an inner ragged dimension. Its rows differ in length: "
            f"{first!r} for axis 1 of {x.shape}\n  Try: a slice, or to_tensor() first"
        )
    length: Any = x.uniform_row_length
    kind = x.row_splits.dtype
    offset = casting.cast(first, kind)
    if isinstance(x._uniform, int) and isinstance(first, int):
        if not -x._uniform <= first < x._uniform:
            raise InvalidArgumentError(
                f"slice index {first} is out of bounds of an axis of size {x._uniform}"
            )
        places = arithmetic.add(x.row_splits[:-1], casting.cast(first % x._uniform, kind))
    else:
        from_end = comparison.less(offset, casting.cast(0, kind))
        column = selecting.where(from_end, arithmetic.add(offset, length), offset)
        require_within(column, length, "a ragged tensor's index is out of bounds")
        places = arithmetic.add(x.row_splits[:-1], column)
    found = _taken(x.values, places)
    return _inner(found, rest)


def _taken(values: Any, places: Any) -> Any:
    return (
        rows_at(values, places)
        if isinstance(values, RaggedTensor)
        else gathering.gather(values, places)
    )


def _sliced_columns(x: RaggedTensor, key: slice) -> RaggedTensor:
    """The slice of every row."""
    kind = x.row_splits.dtype
    lengths = x.row_lengths()
    zero, one = casting.cast(0, kind), casting.cast(1, kind)
    step = 1 if key.step is None else key.step
    if not isinstance(step, int):
        if isinstance(step, SymbolicTensor):
            raise ValueError("the step of a ragged slice must be known while tracing")  # noqa: TRY004 (TensorFlow's class)
        step = int(step)
    if step == 0:
        raise ValueError("the step of a slice must not be 0")
    # The bounds Python's slice would have in each row.
    low = zero if step > 0 else casting.cast(-1, kind)
    high = lengths if step > 0 else arithmetic.subtract(lengths, one)

    def bound(given: Any, default: Any) -> Any:
        if given is None:
            return default
        if isinstance(given, (float, np.floating)) or (
            isinstance(given, Operands) and not given.dtype.is_integer
        ):
            raise TypeError(f"a ragged tensor's slice offsets must be integers, got {given!r}")
        place = casting.cast(given, kind)
        counted = selecting.where(
            comparison.less(place, zero), arithmetic.add(lengths, place), place
        )
        return arithmetic.minimum(arithmetic.maximum(counted, low), high)

    start = bound(key.start, zero if step > 0 else high)
    stop = bound(key.stop, high if step > 0 else low)
    begin = x.row_splits[:-1]
    numbers = ragged_range(
        arithmetic.add(begin, start),
        arithmetic.add(begin, stop),
        casting.cast(step, kind),
        row_splits_dtype=kind,
    )
    cut = numbers.with_values(_taken(x.values, numbers.values))
    known = [part for part in (key.start, key.stop) if part is not None]
    if isinstance(x._uniform, int) and all(isinstance(part, int) for part in known):
        cut._uniform = len(range(*slice(key.start, key.stop, step).indices(x._uniform)))
    return cut
