"""Feature specs of `parse_example`, and assembly of sparse and ragged features."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.dtypes import as_dtype
from pinnace.ops.array import casting, constants, gathering, joining, reshaping, shapes
from pinnace.ops.composites.checks import require_equal
from pinnace.ops.composites.ragged.construction import range as ragged_range
from pinnace.ops.composites.ragged.partitions import splits_from_lengths
from pinnace.ops.composites.ragged.reduction import reduce_max
from pinnace.ops.composites.ragged.shaping import concat
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.composites.sparse.functions import reorder
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.math import arithmetic, division, segments

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "VarLenFeature",
    "assembled",
    "parts_of",
]


class FixedLenFeature(NamedTuple):
    """A feature with the same number of values in every record.

    Attributes:
        shape: shape of its values.
        dtype: float32, int64 or string.
        default_value: the value if it is missing; None if it is required.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of values of one shape; shorter ones are padded.

    Attributes:
        shape: shape of one value.
        dtype: float32, int64 or string.
        allow_missing: whether a missing one has no values; it must, for Example messages.
        default_value: the fill value.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values, as a SparseTensor."""

    dtype: Any


class SparseFeature(NamedTuple):
    """A sparse vector or tensor whose indices and values are separate features.

    Attributes:
        index_key: key of the indices, int64; one for each axis.
        value_key: key of the values.
        dtype: dtype of the values.
        size: size of each axis.
        already_sorted: whether the indices are in order.
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


class _RowSplits(NamedTuple):
    key: str


class _RowLengths(NamedTuple):
    key: str


class _RowStarts(NamedTuple):
    key: str


class _RowLimits(NamedTuple):
    key: str


class _ValueRowIds(NamedTuple):
    key: str


class _UniformRowLength(NamedTuple):
    length: int


class _RaggedFields(NamedTuple):
    dtype: Any
    value_key: Any = None
    partitions: Any = ()
    row_splits_dtype: Any = dtypes.int32
    validate: bool = False


class RaggedFeature(_RaggedFields):
    """A feature with any number of values, as a RaggedTensor.

    Attributes:
        dtype: dtype of its values.
        value_key: its key, if it is not the one in the dictionary.
        partitions: how the values are cut into rows, from the outermost: `RaggedFeature.RowSplits`
            and its kin, each with the key of an int64 feature, or `UniformRowLength(length)`.
        row_splits_dtype: int32 or int64.
        validate: whether to check the partitions.
    """

    __slots__ = ()

    RowSplits: ClassVar = _RowSplits
    RowLengths: ClassVar = _RowLengths
    RowStarts: ClassVar = _RowStarts
    RowLimits: ClassVar = _RowLimits
    ValueRowIds: ClassVar = _ValueRowIds
    UniformRowLength: ClassVar = _UniformRowLength


_PARTITIONS = (_RowSplits, _RowLengths, _RowStarts, _RowLimits, _ValueRowIds, _UniformRowLength)


def parts_of(key: str, feature: Any, who: str) -> tuple[list[Any], list[Any]]:
    """The parts that must be parsed for a feature that is not dense.

    Returns:
        (key, dtype) of sparse parts, and (key, dtype, row_splits_dtype) of ragged ones.

    Raises:
        TypeError: the argument is no feature.
        ValueError: the feature is invalid.
    """
    if isinstance(feature, VarLenFeature):
        return [(key, as_dtype(feature.dtype))], []
    if isinstance(feature, SparseFeature):
        keys = _index_keys(feature)
        sizes = feature.size if isinstance(feature.size, (list, tuple)) else [feature.size]
        if len(sizes) != len(keys):
            raise ValueError(
                f"{who}: SparseFeature {key!r} must have a size for each of {len(keys)} index "
                f"keys, got {len(sizes)}"
            )
        found = [(index, dtypes.int64) for index in keys]
        return [*found, (feature.value_key, as_dtype(feature.dtype))], []
    if isinstance(feature, RaggedFeature):
        split = as_dtype(feature.row_splits_dtype)
        if split not in dtypes.INDEX:
            raise ValueError(
                f"{who}: row_splits_dtype of {key!r} must be int32 or int64, got {split.name}"
            )
        ragged: list[Any] = [(_value_key(key, feature), as_dtype(feature.dtype), split)]
        for partition in _partitions(feature):
            if not isinstance(partition, _PARTITIONS):
                raise TypeError(f"{who}: partition of {key!r} cannot be {partition!r}")
            if not isinstance(partition, _UniformRowLength):
                ragged.append((partition.key, dtypes.int64, split))
        return [], ragged
    raise TypeError(f"{who}: feature {key!r} cannot be {feature!r}")


def _value_key(key: str, feature: RaggedFeature) -> str:
    return key if feature.value_key is None else feature.value_key


def _partitions(feature: RaggedFeature) -> list[Any]:
    given = feature.partitions
    return [given] if isinstance(given, _PARTITIONS) else list(given)


def _index_keys(feature: SparseFeature) -> list[str]:
    keys = feature.index_key
    return list(keys) if isinstance(keys, (list, tuple)) else [keys]


def assembled(key: str, feature: Any, sparse: dict[Any, Any], ragged: dict[Any, Any]) -> Any:
    """The value of a feature, from its parts by (key, dtype)."""
    if isinstance(feature, VarLenFeature):
        return sparse[key, as_dtype(feature.dtype)]
    if isinstance(feature, SparseFeature):
        return _sparse(feature, sparse)
    split = as_dtype(feature.row_splits_dtype)
    values = ragged[_value_key(key, feature), as_dtype(feature.dtype), split]
    # The values of a single message are a tensor; those of a batch are ragged, a row per message.
    cut = _partitioned if isinstance(values, RaggedTensor) else _partitioned_alone
    for partition in reversed(_partitions(feature)):
        rows = None
        if not isinstance(partition, _UniformRowLength):
            rows = ragged[partition.key, dtypes.int64, split]
        values = cut(values, partition, rows, split, feature.validate)
    return values


def _sparse(feature: SparseFeature, sparse: dict[Any, Any]) -> SparseTensor:
    ids = [sparse[key, dtypes.int64] for key in _index_keys(feature)]
    values = sparse[feature.value_key, as_dtype(feature.dtype)]
    sizes = feature.size if isinstance(feature.size, (list, tuple)) else [feature.size]
    for x in ids:
        # Compared one by one, so that each example has equal counts.
        require_equal(
            x.indices,
            values.indices,
            f"parse_example: indices {feature.index_key!r} and values {feature.value_key!r} of a "
            "SparseFeature must be as many, at places",
        )
    columns = [reshaping.expand_dims(x.values, 1) for x in ids]
    indices = joining.concat([values.indices[:, :-1], *columns], 1)
    shape = joining.concat([values.dense_shape[:-1], np.array(sizes, np.int64)], 0)
    made = SparseTensor(indices, values.values, shape)
    return made if feature.already_sorted else reorder(made)


def _partitioned_alone(values: Any, partition: Any, rows: Any, split: Any, validate: bool) -> Any:
    """The values of one message, split into rows."""
    if isinstance(partition, _UniformRowLength):
        if isinstance(values, RaggedTensor):
            return RaggedTensor.from_uniform_row_length(values, partition.length, validate=validate)
        # TensorFlow: a tensor's rows of equal length are a tensor.
        sizes = shapes.shape(values)[1:]
        return reshaping.reshape(
            values, joining.concat([np.array([-1, partition.length], np.int32), sizes], 0)
        )
    made: Any = {
        _RowSplits: RaggedTensor.from_row_splits,
        _RowLengths: RaggedTensor.from_row_lengths,
        _RowStarts: RaggedTensor.from_row_starts,
        _RowLimits: RaggedTensor.from_row_limits,
        _ValueRowIds: RaggedTensor.from_value_rowids,
    }[type(partition)]
    return made(values, casting.cast(rows, split), validate=validate)


def _partitioned(values: Any, partition: Any, rows: Any, split: Any, validate: bool) -> Any:
    """The values of each message of a batch, split into rows."""
    if isinstance(partition, _UniformRowLength):
        inner = RaggedTensor.from_uniform_row_length(
            _as(values.values, split), partition.length, validate=validate
        )
        outer = division.floordiv(values.row_splits, casting.cast(partition.length, split))
        return RaggedTensor(_as(inner, split), outer, internal=True)
    lengths = _row_lengths(values, partition, _cast(rows, split), split)
    inner = RaggedTensor.from_row_lengths(values.values, lengths.values, validate=validate)
    return RaggedTensor(inner, lengths.row_splits, internal=True)


def _as(x: Any, split: Any) -> Any:
    return x.with_row_splits_dtype(split) if isinstance(x, RaggedTensor) else x


def _cast(rows: RaggedTensor, split: Any) -> RaggedTensor:
    return rows.with_flat_values(casting.cast(rows.flat_values, split))


def _row_lengths(values: RaggedTensor, partition: Any, rows: RaggedTensor, split: Any) -> Any:
    """The lengths of the rows of each message."""
    if isinstance(partition, _RowLengths):
        return rows
    if isinstance(partition, _RowSplits):
        # n + 1 splits make n rows; no splits make no rows.
        below, above = rows[:, :-1], rows[:, 1:]
        return below.with_values(arithmetic.subtract(above.values, below.values))
    if isinstance(partition, _ValueRowIds):
        return _counts(rows, split)
    counts = values.row_lengths()
    if isinstance(partition, _RowStarts):
        ends = RaggedTensor.from_uniform_row_length(counts, 1).with_row_splits_dtype(split)
        following = concat([rows[:, 1:], ends], 1)
        # The end appended to a message without rows must be dropped.
        following = _first(following, rows)
        return rows.with_values(arithmetic.subtract(following.values, rows.values))
    zeros = constants.zeros_like(counts)
    starts = RaggedTensor.from_uniform_row_length(zeros, 1).with_row_splits_dtype(split)
    before = _first(concat([starts, rows[:, :-1]], 1), rows)
    return rows.with_values(arithmetic.subtract(rows.values, before.values))


def _first(x: RaggedTensor, like: RaggedTensor) -> RaggedTensor:
    """The first values of each row, as many as the row of `like` has."""
    starts = x.row_splits[:-1]
    numbers = ragged_range(
        starts, arithmetic.add(starts, like.row_lengths()), row_splits_dtype=x.row_splits.dtype
    )
    return numbers.with_values(gathering.gather(x.values, numbers.values))


def _counts(rows: RaggedTensor, split: Any) -> RaggedTensor:
    """The number of values in each row of each message, from the values' row indices."""
    one = casting.cast(1, split)
    last = reduce_max(rows, 1)
    zero = casting.cast(0, split)
    nrows = arithmetic.maximum(
        arithmetic.add(arithmetic.maximum(last, casting.cast(-1, split)), one), zero
    )
    outer = splits_from_lengths(nrows)
    ids = arithmetic.add(rows.values, gathering.gather(outer[:-1], rows.value_rowids()))
    ones = constants.ones(shapes.shape(ids), split)
    found = segments.unsorted_segment_sum(ones, ids, outer[-1])
    return RaggedTensor(found, outer, internal=True)
