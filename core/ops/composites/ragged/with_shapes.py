"""Ops that take a DynamicRaggedShape: reshape, fill, broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import (
    broadcasting,
    casting,
    constants,
    gathering,
    reshaping,
    selecting,
    shapes,
)
from pinnace.ops.composites.checks import require
from pinnace.ops.composites.ragged.dynamic_shape import DynamicRaggedShape
from pinnace.ops.composites.ragged.row_partition import RowPartition
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.math import arithmetic, comparison, logic, ranges, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = [
    "answer_of_shapes",
    "broadcast_dynamic_shape",
    "broadcast_to",
    "fill",
    "ragged_shape",
    "reshape",
]


def answer_of_shapes(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of an op that was given a DynamicRaggedShape.

    Args:
        name: name of the op or function.
        args: its arguments.
        kwargs: its keyword arguments.

    Raises:
        TypeError: the op takes no such shape.
    """
    known: Any = {
        "Reshape": reshape,
        "Fill": fill,
        "BroadcastTo": broadcast_to,
        "BroadcastArgs": broadcast_dynamic_shape,
    }.get(name)
    if known is None:
        _refuse(name)
    named = kwargs.get("name")
    return known(*args) if named is None else known(*args, name=named)


def ragged_shape(input: Any, out_type: Any = None) -> DynamicRaggedShape:
    """The shape of a ragged tensor.

    Args:
        input: the tensor.
        out_type: int32 or int64; int32 if None.
    """
    return DynamicRaggedShape.from_tensor(input, dtypes.int32 if out_type is None else out_type)


def reshape(tensor: Any, shape: DynamicRaggedShape, name: str | None = None) -> Any:
    """The elements of a tensor, in their order, in another shape.

    Args:
        tensor: a tensor or a ragged one, of as many elements.
        shape: the shape.
        name: name of the node while tracing.
    """
    flat = tensor.flat_values if isinstance(tensor, RaggedTensor) else convert_to_tensor(tensor)
    return shape.with_rows(reshaping.reshape(flat, shape.inner_shape, name))


def fill(dims: DynamicRaggedShape, value: Any, name: str | None = None) -> Any:
    """A tensor of that shape, filled with `value`."""
    return dims.with_rows(constants.fill(dims.inner_shape, value, name))


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Any:
    """A tensor repeated along new leading axes, and along uniform axes of size 1.

    Args:
        input: a tensor or a ragged one.
        shape: the shape that it is given.
        name: accepted for TensorFlow's sake.

    Raises:
        InvalidArgumentError: the tensor does not broadcast to that shape.
        ValueError: the dtypes of row splits and partitions differ, or a rank is unknown.
    """
    del name
    if not isinstance(shape, DynamicRaggedShape):
        shape = DynamicRaggedShape([], shape)
    x: Any = input if isinstance(input, RaggedTensor) else convert_to_tensor(input)
    if isinstance(x, RaggedTensor):
        if shape.num_row_partitions and x.row_splits.dtype is not shape.dtype:
            raise ValueError(
                f"broadcast_to: Cannot coerce row_splits.dtype: that of input is "
                f"{x.row_splits.dtype.name}, of shape {shape.dtype.name}\n"
                "  Try: input.with_row_splits_dtype(shape.dtype)"
            )
        shape = shape.with_dtype(x.row_splits.dtype)
    source = DynamicRaggedShape.from_tensor(x, shape.dtype)
    rank, own = _rank(shape), _rank(source)
    if own > rank:
        raise ValueError(f"broadcast_to: input has {own} axes, the shape only {rank}: {shape}")
    if not shape.num_row_partitions and not source.num_row_partitions:
        return broadcasting.broadcast_to(x, shape.inner_shape)
    old, new = _layers(source, rank), _layers(shape, rank)
    index = _first(old.rows, new.rows)
    for one, other in zip(old.partitions, new.partitions, strict=True):
        index = _next(index, one, other)
    flat = x.flat_values if isinstance(x, RaggedTensor) else x
    taken = gathering.gather(reshaping.reshape(flat, [-1]), index)
    return shape.with_rows(reshaping.reshape(taken, shape.inner_shape))


def broadcast_dynamic_shape(
    shape_x: Any, shape_y: Any, name: str | None = None
) -> DynamicRaggedShape:
    """The shape that tensors of two shapes are broadcast to where they meet.

    Args:
        shape_x: a DynamicRaggedShape, or a vector of sizes.
        shape_y: likewise.
        name: accepted for TensorFlow's sake.

    Raises:
        InvalidArgumentError: the shapes do not broadcast.
        ValueError: both have partitions, of different dtypes, or a rank is not known.
    """
    del name
    x, y = _alike(_as_shape(shape_x), _as_shape(shape_y))
    rank = max(_rank(x), _rank(y))
    if not x.num_row_partitions and not y.num_row_partitions:
        both = shapes.broadcast_dynamic_shape(x.inner_shape, y.inner_shape)
        return DynamicRaggedShape([], both)
    old, other = _layers(x, rank), _layers(y, rank)
    rows = selecting.where(comparison.equal(old.rows, _one(old.rows)), other.rows, old.rows)
    here, there = _first(old.rows, rows), _first(other.rows, rows)
    partitions = []
    for mine, theirs in zip(old.partitions, other.partitions, strict=True):
        joint = _joint(mine, theirs, here, there, rows)
        here, there = _next(here, mine, joint), _next(there, theirs, joint)
        partitions.append(joint)
        rows = joint.nvals()
    joined = DynamicRaggedShape.from_row_partitions(partitions)
    return joined.with_num_row_partitions(_partitions_of(x, y))


class _Layers(NamedTuple):
    """A shape in which all axes but the first are partitions."""

    rows: Tensor
    partitions: list[RowPartition]


def _layers(shape: DynamicRaggedShape, rank: int) -> _Layers:
    """The shape with leading axes of size 1 up to that rank."""
    own, kind = _rank(shape), shape.dtype
    one = casting.cast(1, kind)
    if not own:
        return _Layers(one, [_uniform(1, one) for _ in range(rank - 1)])
    partitions = list(shape.with_num_row_partitions(own - 1).row_partitions)
    if own == rank:
        return _Layers(shape[0], partitions)
    before = [_uniform(1, one) for _ in range(rank - own - 1)]
    return _Layers(one, [*before, _uniform(shape[0], one), *partitions])


def _uniform(length: Any, rows: Any) -> RowPartition:
    return RowPartition.from_uniform_row_length(length, nrows=rows, dtype=rows.dtype)


def _first(source: Tensor, target: Tensor) -> Tensor:
    """The source row that each target row repeats."""
    stretched = comparison.equal(source, _one(source))
    require(
        logic.logical_or(stretched, comparison.equal(source, target)),
        "broadcast: the first axis must have size 1 or that of the other",
        source,
        target,
    )
    return arithmetic.multiply(ranges.range(target), _unless(stretched, target))


def _next(index: Tensor, source: RowPartition, target: RowPartition) -> Tensor:
    """For each value of the target, the source value that it repeats.

    Args:
        index: likewise, of rows.
        source: the partition of the source.
        target: the partition of the target.
    """
    lengths, wanted = gathering.gather(source.row_lengths(), index), target.row_lengths()
    starts = gathering.gather(source.row_starts(), index)
    stretched = _is_one(source)
    require(
        logic.logical_or(stretched, reduction.reduce_all(comparison.equal(lengths, wanted))),
        "broadcast: rows must have the length of the other's, or all the length 1; lengths",
        lengths,
        wanted,
    )
    offsets = arithmetic.multiply(target.offsets_in_rows(), _unless(stretched, lengths))
    return arithmetic.add(gathering.gather(starts, target.value_rowids()), offsets)


def _joint(
    mine: RowPartition, theirs: RowPartition, here: Tensor, there: Tensor, rows: Tensor
) -> RowPartition:
    """The partition to which two partitions are broadcast."""
    if mine.is_uniform() and theirs.is_uniform():
        own, other = mine.uniform_row_length(), theirs.uniform_row_length()
        length = selecting.where(_is_one(mine), other, own)
        return _uniform(length, rows)
    lengths = [
        gathering.gather(one.row_lengths(), index) for one, index in ((mine, here), (theirs, there))
    ]
    return RowPartition.from_row_lengths(selecting.where(_is_one(mine), lengths[1], lengths[0]))


def _is_one(partition: RowPartition) -> Any:
    """Whether all rows are known to have length 1 and so can be repeated; a bool scalar."""
    length = partition.uniform_row_length()
    return constants.constant(False) if length is None else comparison.equal(length, _one(length))


def _one(like: Tensor) -> Tensor:
    return casting.cast(1, like.dtype)


def _unless(stretched: Any, like: Tensor) -> Tensor:
    """0 where an axis is broadcast, 1 where it is not."""
    return casting.cast(logic.logical_not(stretched), like.dtype)


def _as_shape(given: Any) -> DynamicRaggedShape:
    return given if isinstance(given, DynamicRaggedShape) else DynamicRaggedShape([], given)


def _alike(
    x: DynamicRaggedShape, y: DynamicRaggedShape
) -> tuple[DynamicRaggedShape, DynamicRaggedShape]:
    """Both shapes, with the dtype of the one with partitions."""
    if x.dtype is y.dtype:
        return x, y
    if x.num_row_partitions and y.num_row_partitions:
        raise ValueError(
            f"broadcast_dynamic_shape: Dtypes don't match: {x.dtype.name} and {y.dtype.name}\n"
            "  Try: shape_y.with_dtype(shape_x.dtype)"
        )
    partitioned = x if x.num_row_partitions else y if y.num_row_partitions else None
    kind = dtypes.int64 if partitioned is None else partitioned.dtype
    return x.with_dtype(kind), y.with_dtype(kind)


def _partitions_of(x: DynamicRaggedShape, y: DynamicRaggedShape) -> int:
    """The number of partitions of the broadcast shape: the larger one, counted from inside."""
    counts = []
    for one, other in ((x, y), (y, x)):
        if one.num_row_partitions:
            counts.append(one.num_row_partitions + max(0, _rank(other) - _rank(one)))
    return max(counts)


def _rank(shape: DynamicRaggedShape) -> int:
    if shape.rank is None:
        raise ValueError(f"Unable to broadcast: unknown rank of {shape}")
    return shape.rank


def _refuse(name: str) -> NoReturn:
    raise TypeError(
        f"{name} takes no DynamicRaggedShape\n  Try: its inner_shape, or row_partitions"
    )
