"""Elementwise functions on ragged tensors, applied to the flat values.

Arguments with different rows are broadcast first: as for tensors, an axis of size 1 is repeated if
it is 1 in every row by construction (an axis of a tensor, a uniform axis). Rows that merely happen
to have one value are not: this is TensorFlow's rule, which detects mistakes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Operands, SymbolicTensor
from pinnace.ops.array import casting, gathering, reshaping, selecting, shapes
from pinnace.ops.composites.checks import agree, require, require_equal
from pinnace.ops.composites.ragged.construction import from_tensor
from pinnace.ops.composites.ragged.construction import range as ragged_range
from pinnace.ops.composites.ragged.indexing import rows_at
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.math import arithmetic, comparison, logic, ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["add_n", "aligned", "elementwise", "map_flat_values", "match_row_splits", "scalar_mul"]


def elementwise(function: Callable[..., Any], *xs: Any) -> Any:
    """function(*xs) element by element, with at least one ragged operand.

    Raises:
        InvalidArgumentError: rows that do not fit.
    """
    parts = aligned(xs)
    like = next(x for x in parts if isinstance(x, RaggedTensor))
    flat = [x.flat_values if isinstance(x, RaggedTensor) else x for x in parts]
    return like.with_flat_values(function(*flat))


def aligned(xs: Sequence[Any]) -> list[Any]:
    """The arguments with equal rows; scalars are unchanged."""
    ragged = match_row_splits([x for x in xs if isinstance(x, RaggedTensor)])
    found = iter(ragged)
    args = [next(found) if isinstance(x, RaggedTensor) else x for x in xs]
    if len(ragged) == len(args) and _share_rows(ragged):
        return args
    kind = ragged[0].dtype
    args = [
        x
        if isinstance(x, (RaggedTensor, Operands, bool, int, float, complex, str, bytes))
        else convert_to_tensor(x, dtype_hint=kind)
        for x in args
    ]
    args = [operators_read(x) for x in args]
    ranks = [_rank(x) for x in args]
    depth = max(x.ragged_rank for x in ragged)
    inner = min(x.flat_values.shape.rank or 1 for x in ragged)
    # Tensors whose rank does not exceed that of the flat values broadcast inside a row.
    moving = [
        i
        for i, (x, rank) in enumerate(zip(args, ranks, strict=True))
        if isinstance(x, RaggedTensor) or rank >= inner
    ]
    if len(moving) == 1:
        return args
    top = max(ranks[i] for i in moving)
    spread = _spread([_with_rank(args[i], top) for i in moving], depth)
    for i, x in zip(moving, spread, strict=True):
        args[i] = x
    return args


def operators_read(x: Any) -> Any:
    """A variable as its value."""
    return convert_to_tensor(x) if isinstance(x, Operands) else x


def match_row_splits(xs: Sequence[RaggedTensor]) -> list[RaggedTensor]:
    """The same tensors with row splits of one dtype; int64 if they differ."""
    kinds = {x.row_splits.dtype for x in xs}
    if len(kinds) < 2:
        return list(xs)
    return [x.with_row_splits_dtype(dtypes.int64) for x in xs]


def _share_rows(xs: Sequence[RaggedTensor]) -> bool:
    """Whether all have the same row splits objects, so that no comparison is needed."""
    first = xs[0].nested_row_splits
    return all(
        len(x.nested_row_splits) == len(first)
        and all(a is b for a, b in zip(x.nested_row_splits, first, strict=True))
        for x in xs[1:]
    )


def _rank(x: Any) -> int:
    shape = getattr(x, "shape", None)
    if shape is None:
        return 0
    if shape.rank is None:
        raise ValueError(f"a tensor of unknown rank cannot be broadcast with a ragged one: {x!r}")
    return int(shape.rank)


def _with_rank(x: Any, rank: int) -> Any:
    """x with axes of size 1 in front."""
    while _rank(x) < rank:
        if isinstance(x, RaggedTensor):
            count = x.shape[0]
            x = RaggedTensor.from_uniform_row_length(
                x, x.nrows() if count is None else count, nrows=1, validate=False
            )
        else:
            x = reshaping.expand_dims(x, 0)
    return x


class _Axis:
    """The row lengths of one axis of one argument, and whether they are 1 by construction.

    `one` is a bool, or, while tracing, a bool tensor if the size is only known when the graph runs.
    """

    __slots__ = ("lengths", "one")

    def __init__(self, lengths: Any, one: Any) -> None:
        self.lengths = lengths
        self.one = one


def _is_one(size: Any) -> Any:
    """Whether a uniform axis has size 1; None for a ragged axis."""
    if isinstance(size, SymbolicTensor):
        return comparison.equal(size, np.ones((), size.dtype.numpy))
    return size is not None and int(size) == 1


def _negated(one: Any, kind: Any) -> Any:
    """0 where `one` holds, else 1; indices times this are the first where `one` holds."""
    return casting.cast(logic.logical_not(one), kind)


def _spread(xs: list[Any], depth: int) -> list[Any]:
    """The same tensors with equal rows on the first `depth` ragged axes."""
    depth = max([depth, *[x.ragged_rank for x in xs if isinstance(x, RaggedTensor)]])
    kind = next(x.row_splits.dtype for x in xs if isinstance(x, RaggedTensor))
    full = [_as_ragged(x, depth, kind) for x in xs]
    if _same_splits(full):
        return full
    axes = []
    for x in full:
        known = x.shape[0]
        count = x.nrows()
        axes.append(_Axis(count, _is_one(count if known is None else known)))
    count = _agreed(axes, 0)
    full = [
        x if own.one is False or count is own.lengths else rows_at(x, _rows(own, count, kind))
        for x, own in zip(full, axes, strict=True)
    ]
    return _spread_columns(full, depth, 1)


def _rows(own: _Axis, count: Any, kind: Any) -> Any:
    """The row to use for each of `count` rows: the first one, if there is only one."""
    moves = casting.cast(0, kind) if own.one is True else _negated(own.one, kind)
    return arithmetic.multiply(ranges.range(count), moves)


def _spread_columns(full: list[Any], depth: int, axis: int) -> list[Any]:
    """Broadcast rows from this axis inwards, given equal numbers of rows."""
    kind = full[0].row_splits.dtype
    axes = [_Axis(x.row_lengths(), _is_one(x._uniform)) for x in full]
    lengths = _agreed(axes, axis)
    inner = []
    for x, own in zip(full, axes, strict=True):
        values = x.values
        if own.one is not False and lengths is not own.lengths:
            # The single value of each row, repeated to the row's new length.
            numbers = ragged_range(
                casting.cast(0, kind), lengths, casting.cast(1, kind), row_splits_dtype=kind
            )
            places = gathering.gather(x.row_splits[:-1], numbers.value_rowids())
            if own.one is not True:
                columns = arithmetic.multiply(numbers.values, _negated(own.one, kind))
                places = arithmetic.add(places, columns)
            values = _taken(values, places)
        inner.append(values)
    splits = next(
        (x.row_splits for x, own in zip(full, axes, strict=True) if own.lengths is lengths), None
    )
    uniform = next(
        (x._uniform for x, own in zip(full, axes, strict=True) if own.lengths is lengths), None
    )
    if splits is None:
        made = RaggedTensor.from_row_lengths(inner[0], lengths, validate=False)
        splits = made.row_splits
    if depth > axis:
        inner = _spread_columns(inner, depth, axis + 1)
    return [RaggedTensor(part, splits, internal=True, uniform=uniform) for part in inner]


def _taken(values: Any, places: Any) -> Any:
    if isinstance(values, RaggedTensor):
        return rows_at(values, places)
    return gathering.gather(values, places)


def _agreed(axes: list[_Axis], axis: int) -> Any:
    """The common lengths, after repeating rows of length 1."""
    claim = f"ragged tensors must agree in the rows of axis {axis}"
    fixed = [own.lengths for own in axes if own.one is False]
    open_ones = [own for own in axes if own.one is not False and own.one is not True]
    if fixed:
        wanted = fixed[0]
    elif open_ones:
        # The first operand not of length 1 in each row; the last one if all are.
        wanted = open_ones[-1].lengths
        for own in reversed(open_ones[:-1]):
            wanted = selecting.where(own.one, wanted, own.lengths)
    else:
        return axes[0].lengths
    for other in fixed[1:]:
        require_equal(wanted, other, claim)
    for own in open_ones:
        if own.lengths is not wanted:
            fits = logic.logical_or(own.one, agree(own.lengths, wanted))
            require(fits, claim, own.lengths, wanted)
    return wanted


def _as_ragged(x: Any, depth: int, kind: Any) -> RaggedTensor:
    """x with `depth` axes stored as row splits."""
    if isinstance(x, RaggedTensor):
        missing = depth - x.ragged_rank
        if not missing:
            return x
        flat = x.flat_values
        if (flat.shape.rank or 1) <= missing:
            raise InvalidArgumentError(
                f"a ragged tensor of shape {x.shape} cannot be broadcast with {depth} ragged axes"
            )
        return x.with_flat_values(from_tensor(flat, ragged_rank=missing, row_splits_dtype=kind))
    return from_tensor(x, ragged_rank=depth, row_splits_dtype=kind)  # type: ignore[no-any-return]


def _same_splits(full: list[RaggedTensor]) -> bool:
    """Whether all have equal row splits, as far as is known statically."""
    first = full[0].nested_row_splits
    for x in full[1:]:
        for a, b in zip(first, x.nested_row_splits, strict=True):
            if a is b:
                continue
            if isinstance(a, SymbolicTensor) or isinstance(b, SymbolicTensor):
                return False
            if not np.array_equal(a._array, b._array):
                return False
    return True


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply an op to the flat values of every ragged argument, keeping their rows.

    Args:
        op: keeps the first axis.
        *args: ragged tensors, all with equal rows; anything else is passed on.
        **kwargs: likewise; lists of ragged tensors too.

    Returns:
        The result in these rows; op(*args, **kwargs) if nothing is ragged.

    Raises:
        InvalidArgumentError: rows that differ.
        ValueError: a result with another number of values.
    """
    found: list[RaggedTensor] = []
    _collect((args, kwargs), found)
    if not found:
        return op(*args, **kwargs)
    matched = match_row_splits(found)
    first = matched[0]
    for x in matched[1:]:
        claim = "ragged.map_flat_values: all ragged arguments must have equal rows"
        if len(x.nested_row_splits) != len(first.nested_row_splits):
            raise InvalidArgumentError(f"{claim}, got {first!r} and {x!r}")
        for a, b in zip(first.nested_row_splits, x.nested_row_splits, strict=True):
            require_equal(a, b, claim)
    # The rows are equal; those of uniform length say more.
    first = max(matched, key=_uniform_axes)
    args, kwargs = _flat((args, kwargs))
    result = op(*args, **kwargs)
    if isinstance(result, Operands):
        old, new = first.flat_values.shape, result.shape
        if new.rank == 0 or (
            old.rank and new.rank and None not in (old[0], new[0]) and old[0] != new[0]
        ):
            raise ValueError(
                f"ragged.map_flat_values: op must keep the {old[0]} values, got shape {new}"
            )
        if new.rank != 0 and (not old.rank or not new.rank or None in (old[0], new[0])):
            require_equal(
                shapes.shape(first.flat_values)[0],
                shapes.shape(result)[0],
                "ragged.map_flat_values: op must keep the number of values",
            )
    return first.with_flat_values(result)


def _uniform_axes(x: Any) -> int:
    if not isinstance(x, RaggedTensor):
        return 0
    return (x._uniform is not None) + _uniform_axes(x.values)


def _collect(value: Any, found: list[RaggedTensor]) -> None:
    if isinstance(value, RaggedTensor):
        found.append(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, found)
    elif isinstance(value, dict):
        for item in value.values():
            _collect(item, found)


def _flat(value: Any) -> Any:
    if isinstance(value, RaggedTensor):
        return value.flat_values
    if isinstance(value, (list, tuple)):
        return type(value)([_flat(item) for item in value])
    if isinstance(value, dict):
        return {key: _flat(item) for key, item in value.items()}
    return value


def add_n(inputs: Any, name: str | None = None) -> Any:
    """The sum of ragged tensors with equal rows."""
    return elementwise(lambda *xs: arithmetic.add_n(list(xs), name), *inputs)


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """A ragged tensor times a number."""
    return elementwise(lambda flat: arithmetic.scalar_mul(scalar, flat, name), x)
