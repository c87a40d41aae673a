"""Joining, repetition and changed axes of ragged tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Operands, SymbolicTensor, Tensor
from pinnace.ops.array import casting, gathering, joining, reshaping, shapes, tiling
from pinnace.ops.composites.checks import require, require_equal
from pinnace.ops.composites.ragged.construction import from_tensor
from pinnace.ops.composites.ragged.elementwise import match_row_splits
from pinnace.ops.composites.ragged.indexing import rows_at
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.math import arithmetic, comparison, ranges, reduction

__all__ = [
    "concat",
    "expand_dims",
    "merge_dims",
    "rank",
    "reverse",
    "size",
    "split",
    "squeeze",
    "stack",
    "tile",
]


def _known_axis(axis: Any, rank: int | None, who: str, what: str = "axis") -> int:
    if isinstance(axis, Operands):
        if isinstance(axis, SymbolicTensor):
            raise ValueError(f"{who}: axis must be known while tracing for ragged tensors")  # noqa: TRY004 (TensorFlow's class)
        axis = int(axis)  # type: ignore[call-overload]
    if not hasattr(axis, "__index__"):
        raise TypeError(f"{who}: {what} must be an int; got {type(axis).__name__}")
    axis = int(axis)
    if axis < 0:
        if rank is None:
            raise ValueError(f"{who}: axis must not be negative where the rank is unknown")
        if axis < -rank:
            raise ValueError(f"{who}: {what}={axis} out of bounds: expected {-rank}<={what}<{rank}")
        axis += rank
    if rank is not None and axis >= rank:
        raise ValueError(f"{who}: {what}={axis} out of bounds: expected {-rank}<={what}<{rank}")
    return int(axis)


def _alike(values: Any) -> list[Any]:
    """The tensors with equal ragged ranks of at least 1, and one dtype of row splits."""
    items = [x if isinstance(x, RaggedTensor) else convert_to_tensor(x) for x in values]
    if not items:
        raise ValueError("ragged tensors to join must be at least one, got none")
    ragged = [x for x in items if isinstance(x, RaggedTensor)]
    kind = dtypes.int64
    if ragged:
        kind = match_row_splits(ragged)[0].row_splits.dtype
        deepest = max(x.ragged_rank for x in ragged)
    else:
        deepest = 0
    found: list[Any] = []
    for x in items:
        if isinstance(x, RaggedTensor):
            same = x.with_row_splits_dtype(kind)
            missing = deepest - same.ragged_rank
            if missing:
                flat = from_tensor(same.flat_values, ragged_rank=missing, row_splits_dtype=kind)
                same = same.with_flat_values(flat)
            found.append(same)
        elif x.shape.rank is not None and x.shape.rank <= deepest:
            found.append(x)
        else:
            found.append(
                from_tensor(x, ragged_rank=deepest, row_splits_dtype=kind) if deepest else x
            )
    return found


def concat(values: Any, axis: Any, name: str | None = None) -> Any:
    """The tensors one after the other along an axis.

    Args:
        values: tensors and ragged tensors of one rank and dtype.
        axis: the axis; below the ragged axes all other sizes must agree.
        name: accepted for TensorFlow's sake.
    """
    del name
    if isinstance(values, RaggedTensor):
        return values
    items = list(values)
    if len(items) == 1:
        return items[0]
    rank = next((_rank(x) for x in items if _rank(x) is not None), None)
    return _joined(items, _known_axis(axis, rank, "concat"), stacking=False)


def stack(values: Any, axis: Any = 0, name: str | None = None) -> Any:
    """The tensors along a new axis.

    Args:
        values: tensors and ragged tensors of one rank and dtype; rows may differ in length.
        axis: the place of the new axis.
        name: accepted for TensorFlow's sake.
    """
    del name
    items = [values] if isinstance(values, (RaggedTensor, Operands)) else list(values)
    items = [x if isinstance(x, RaggedTensor) else convert_to_tensor(x) for x in items]
    if not items:
        raise ValueError("ragged.stack: values must hold at least one tensor, got none")
    rank = next((_rank(x) for x in items if _rank(x) is not None), None)
    at = _known_axis(axis, None if rank is None else rank + 1, "ragged.stack")
    if rank == 0:
        return joining.stack(items, at)
    if len(items) == 1 and not isinstance(items[0], RaggedTensor):
        return from_tensor(joining.stack(items, at)) if rank else joining.stack(items, at)
    if not any(isinstance(x, RaggedTensor) for x in items):
        if at and rank == 1:
            return joining.stack(items, at)
        # Rows of tensors may differ in length too.
        if at == 0:
            return _stacked_tensors(items, rank)
    return _joined(items, at, stacking=True)


def _stacked_tensors(items: list[Any], rank: int | None) -> Any:
    if rank is None or rank == 1:
        # TensorFlow: row splits of stacked vectors are int32.
        lengths = [shapes.shape(x)[:1] for x in items]
        return RaggedTensor.from_row_lengths(
            joining.concat(items, 0), joining.concat(lengths, 0), validate=False
        )
    return _joined([from_tensor(x, ragged_rank=rank - 1) for x in items], 0, stacking=True)


def _rank(x: Any) -> int | None:
    if isinstance(x, RaggedTensor):
        return x.shape.rank
    return convert_to_tensor(x).shape.rank


def _joined(items: list[Any], axis: int, stacking: bool) -> Any:
    items = _alike(items)
    if not any(isinstance(x, RaggedTensor) for x in items):
        return joining.stack(items, axis) if stacking else joining.concat(items, axis)
    if axis > 1:
        return _joined_below(items, axis, stacking)
    if axis == 0:
        joined = _one_after_the_other(items)
        if not stacking:
            return joined
        return RaggedTensor.from_row_lengths(
            joined, joining.stack([x.nrows() for x in items]), validate=False
        )
    # Axis 1: the first rows of all inputs, then the second rows.
    count = len(items)
    joined = _one_after_the_other(items)
    rows = items[0].nrows()
    for x in items[1:]:
        require_equal(
            rows, x.nrows(), f"ragged tensors joined along axis {axis} must have as many rows"
        )
    order = arithmetic.add(
        reshaping.expand_dims(ranges.range(rows), 1),
        reshaping.expand_dims(
            arithmetic.multiply(ranges.range(casting.cast(count, rows.dtype)), rows), 0
        ),
    )
    turned = rows_at(joined, reshaping.reshape(order, [-1]))
    if stacking:
        return RaggedTensor.from_uniform_row_length(turned, count, nrows=rows, validate=False)
    splits = turned.row_splits[::count]
    uniform = None
    if all(isinstance(x._uniform, int) for x in items):
        uniform = sum(x._uniform for x in items)
    return RaggedTensor(turned.values, splits, internal=True, uniform=uniform)


def _joined_below(items: list[Any], axis: int, stacking: bool) -> Any:
    first = items[0]
    for x in items[1:]:
        require_equal(
            first.row_splits,
            x.row_splits,
            f"ragged tensors joined along axis {axis} must have equal row splits above it",
        )
    return first.with_values(_joined([x.values for x in items], axis - 1, stacking))


def _one_after_the_other(items: list[Any]) -> Any:
    if not isinstance(items[0], RaggedTensor):
        return joining.concat(items, 0)
    values = _one_after_the_other([x.values for x in items])
    parts, before = [items[0].row_splits], items[0].row_splits[-1]
    for x in items[1:]:
        parts.append(arithmetic.add(x.row_splits[1:], before))
        before = arithmetic.add(before, x.row_splits[-1])
    uniforms = {x._uniform if isinstance(x._uniform, int) else None for x in items}
    uniform = uniforms.pop() if len(uniforms) == 1 else None
    return RaggedTensor(values, joining.concat(parts, 0), internal=True, uniform=uniform)


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """The tensor repeated along every axis.

    Args:
        input: ragged tensor.
        multiples: [rank], integers: how often, by axis; known while tracing.
        name: accepted for TensorFlow's sake.
    """
    del name
    if isinstance(multiples, SymbolicTensor):
        raise ValueError("tile: multiples must be known while tracing for ragged tensors")  # noqa: TRY004 (TensorFlow's class)
    times = [int(n) for n in np.asarray(multiples)]
    rank = input.shape.rank
    if rank is not None and len(times) != rank:
        raise ValueError(
            f"tile: multiples must have one entry for each of {rank} axes, got {times}"
        )
    return _tiled(input, times)


def _tiled(x: Any, times: list[int]) -> Any:
    if not isinstance(x, RaggedTensor):
        return tiling.tile(x, times)
    # Innermost axes first: each axis is repeated together with its content.
    if any(n != 1 for n in times[1:]):
        x = _tiled_columns(x, times)
    if times[0] == 1:
        return x
    if times[0] == 0:
        return x[:0]
    return concat([x] * times[0], 0)


def _tiled_columns(x: RaggedTensor, times: list[int]) -> RaggedTensor:
    """The rows of axis 1 and below repeated."""
    inner = x.values
    rest = [1, *times[2:]]
    if any(n != 1 for n in rest):
        inner = _tiled(inner, rest)
    x = x.with_values(inner)
    if times[1] == 1:
        return x
    if times[1] == 0:
        return x[:, :0]  # type: ignore[no-any-return]
    return concat([x] * times[1], 1)  # type: ignore[no-any-return]


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """The tensor with an axis of size 1 more.

    Args:
        input: ragged tensor.
        axis: its place in the result.
        name: accepted for TensorFlow's sake.
    """
    del name
    if not isinstance(input, RaggedTensor):
        return reshaping.expand_dims(input, axis)
    rank = input.shape.rank
    at = _known_axis(axis, None if rank is None else rank + 1, "expand_dims")
    if at == 0:
        count = input.shape[0]
        return RaggedTensor.from_uniform_row_length(
            input, input.nrows() if count is None else count, nrows=1, validate=False
        )
    if at == 1:
        return RaggedTensor.from_uniform_row_length(input, 1, nrows=input.nrows(), validate=False)
    return input.with_values(expand_dims(input.values, at - 1))


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """The tensor without axes of size 1.

    Args:
        input: ragged tensor.
        axis: which; must be given.
        name: accepted for TensorFlow's sake.

    Raises:
        ValueError: no axis.
        InvalidArgumentError: one whose size is not 1.
    """
    del name
    if axis is None:
        raise ValueError("squeeze: axis must be given for a ragged tensor")
    rank = input.shape.rank
    given = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    for one in sorted({_known_axis(a, rank, "squeeze") for a in given}, reverse=True):
        input = _squeezed(input, one)
    return input


def _squeezed(x: Any, axis: int) -> Any:
    if not isinstance(x, RaggedTensor):
        return reshaping.squeeze(x, [axis])
    if axis > 1:
        return x.with_values(_squeezed(x.values, axis - 1))
    if axis == 1:
        lengths = x.row_lengths()
        one = np.ones((), lengths.dtype.numpy)
        require(
            reduction.reduce_all(comparison.equal(lengths, one)),
            "squeeze: axis 1 must have size 1",
            lengths,
        )
        return x.values
    count = x.nrows()
    require(
        comparison.equal(count, np.ones((), count.dtype.numpy)),
        "squeeze: axis 0 must have size 1",
        count,
    )
    return x[0]


def merge_dims(value: Any, outer_axis: Any, inner_axis: Any) -> Any:
    """The tensor with the axes from outer_axis to inner_axis merged."""
    rank = value.shape.rank
    outer = _known_axis(outer_axis, rank, "merge_dims", "outer_axis")
    inner = _known_axis(inner_axis, rank, "merge_dims", "inner_axis")
    if outer > inner:
        raise ValueError(
            f"merge_dims: Expected outer_axis ({outer}) to be less than or equal to inner_axis "
            f"({inner})"
        )
    return _merged(value, outer, inner)


def _merged(x: Any, outer: int, inner: int) -> Any:
    if outer == inner:
        return x
    if not isinstance(x, RaggedTensor):
        sizes = shapes.shape(x)
        one = reshaping.reshape(reduction.reduce_prod(sizes[outer : inner + 1]), [1])
        folded = joining.concat([sizes[:outer], one, sizes[inner + 1 :]], 0)
        return reshaping.reshape(x, folded)
    if outer == 0:
        return _merged(x.values, 0, inner - 1)
    if outer > 1:
        return x.with_values(_merged(x.values, outer - 1, inner - 1))
    below = x.values
    if isinstance(below, RaggedTensor):
        splits = gathering.gather(below.row_splits, x.row_splits)
        merged = RaggedTensor(below.values, splits, internal=True)
        return _merged(merged, 1, inner - 1)
    sizes = shapes.shape(below, out_type=x.row_splits.dtype)
    width = reduction.reduce_prod(sizes[1:inner])
    return RaggedTensor(
        _merged(below, 0, inner - 1), arithmetic.multiply(x.row_splits, width), internal=True
    )


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """The tensor with the elements of some axes in reverse order."""
    del name
    given = np.asarray(axis).reshape(-1).tolist()
    rank = tensor.shape.rank
    axes = {_known_axis(a, rank, "reverse") for a in given}
    if not axes:
        return tensor
    key = [slice(None, None, -1) if a in axes else slice(None) for a in range(max(axes) + 1)]
    return tensor[tuple(key)]


def size(input: Any, out_type: Any = None, name: str | None = None) -> Tensor:
    """The number of values."""
    del name
    return shapes.size(input.flat_values, out_type=dtypes.int32 if out_type is None else out_type)


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: Any = None, name: str | None = None
) -> list[Any]:
    """The tensor cut into pieces along an axis that is not ragged.

    Args:
        value: ragged tensor.
        num_or_size_splits: how many equal pieces, or the size of each.
        axis: the axis.
        num: accepted for TensorFlow's sake.
        name: accepted for TensorFlow's sake.
    """
    del num, name
    at = _known_axis(axis, value.shape.rank, "split")
    if at > value.ragged_rank:
        parts = joining.split(value.flat_values, num_or_size_splits, at - value.ragged_rank)
        return [value.with_flat_values(part) for part in parts]
    total = value.shape[at]
    if total is None:
        if at == 0 and not isinstance(value.row_splits, SymbolicTensor):
            total = int(value.nrows())
        else:
            raise ValueError(f"split: axis {at} of {value.shape} has no one size to cut")
    given = np.asarray(num_or_size_splits)
    if given.ndim == 0:
        if int(given) < 1 or total % int(given):
            raise ValueError(f"split: {total} rows cannot be cut into {int(given)} equal pieces")
        sizes = [total // int(given)] * int(given)
    else:
        sizes = [int(n) for n in given]
        if sum(sizes) != total:
            raise ValueError(f"split: sizes must add up to {total}, got {sizes}")
    pieces, begin = [], 0
    for part in sizes:
        key = (*[slice(None)] * at, slice(begin, begin + part))
        piece = value[key]
        if at:
            piece._levels()[at - 1]._uniform = part
        pieces.append(piece)
        begin += part
    return pieces


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of axes."""
    del name
    found = input.shape.rank
    if found is None:
        found = input.ragged_rank + (input.flat_values.shape.rank or 0)
    return convert_to_tensor(np.int32(found))
