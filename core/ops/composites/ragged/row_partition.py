"""RowPartition: a division of values into rows, without the values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.ops.array import casting, gathering, joining, shapes
from pinnace.ops.composites.checks import require
from pinnace.ops.composites.extension.types import ExtensionType
from pinnace.ops.composites.ragged import construction
from pinnace.ops.composites.ragged.partitions import (
    known_integer,
    splits_from_lengths,
    splits_from_rowids,
)
from pinnace.ops.math import arithmetic, comparison, division, logic, ranges, reduction

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType

__all__ = ["RowPartition"]


class RowPartition(ExtensionType):
    """The partition of a sequence of `nvals` values into `nrows` consecutive rows.

    It is created by the factory methods, one for each encoding.

    Args:
        row_splits: [nrows + 1], int32 or int64: row i has the values from `row_splits[i]` up to
            `row_splits[i + 1]`.
        row_lengths: as `value_rowids`.
        value_rowids: accepted for TensorFlow's sake: it follows from the row splits.
        nrows: as `value_rowids`.
        uniform_row_length: the length of every row, if all are known to have the same.
        nvals: as `value_rowids`.
        internal: whether a factory method calls.

    Raises:
        ValueError: the constructor is not called by a factory method.

    Source:
        TensorFlow's `tf.experimental.RowPartition`.
    """

    _row_splits: Tensor
    _uniform: int | Tensor | None

    def __init__(
        self,
        row_splits: Any,
        row_lengths: Any = None,
        value_rowids: Any = None,
        nrows: Any = None,
        uniform_row_length: Any = None,
        nvals: Any = None,
        internal: Any = False,
    ) -> None:
        del row_lengths, value_rowids, nrows, nvals
        if internal is not _FACTORY:
            raise ValueError(
                "RowPartition constructor is private\n"
                "  Try: RowPartition.from_row_lengths(lengths), or another of its factory methods"
            )
        self._row_splits = row_splits
        self._uniform = uniform_row_length

    @classmethod
    def from_row_splits(
        cls, row_splits: Any, validate: bool = True, dtype: Any = None, dtype_hint: Any = None
    ) -> RowPartition:
        """Row i has the values from `row_splits[i]` up to `row_splits[i + 1]`.

        Args:
            row_splits: [nrows + 1], from 0, never decreasing.
            validate: whether to check that.
            dtype: int32 or int64; of the given numbers, if they have one of these, or int64.
            dtype_hint: the dtype if `dtype` is None and the numbers are Python's.

        Raises:
            InvalidArgumentError: the splits do not ascend from 0.
        """
        splits = _vector(row_splits, "row_splits", dtype, dtype_hint)
        if splits.shape.rank is not None and splits.shape[0] == 0:
            raise ValueError("RowPartition: row_splits must have at least one element, got none")
        return _made(splits, "row_splits", validate)

    @classmethod
    def from_row_lengths(
        cls, row_lengths: Any, validate: bool = True, dtype: Any = None, dtype_hint: Any = None
    ) -> RowPartition:
        """A partition with these row lengths; other arguments as for `from_row_splits`."""
        lengths = _vector(row_lengths, "row_lengths", dtype, dtype_hint)
        return _made(splits_from_lengths(lengths), "row_lengths", validate)

    @classmethod
    def from_row_starts(
        cls,
        row_starts: Any,
        nvals: Any,
        validate: bool = True,
        dtype: Any = None,
        dtype_hint: Any = None,
    ) -> RowPartition:
        """A partition whose rows extend from each start to the next, the last one to `nvals`."""
        starts = _vector(row_starts, "row_starts", dtype, dtype_hint)
        end = _scalar(nvals, starts.dtype)
        splits = joining.concat([starts, joining.stack([end])], 0)
        return _made(splits, "row_starts", validate)

    @classmethod
    def from_row_limits(
        cls, row_limits: Any, validate: bool = True, dtype: Any = None, dtype_hint: Any = None
    ) -> RowPartition:
        """A partition whose rows extend from the previous limit to their own."""
        limits = _vector(row_limits, "row_limits", dtype, dtype_hint)
        zero = np.zeros(1, limits.dtype.numpy)
        return _made(joining.concat([zero, limits], 0), "row_limits", validate)

    @classmethod
    def from_value_rowids(
        cls,
        value_rowids: Any,
        nrows: Any = None,
        validate: bool = True,
        dtype: Any = None,
        dtype_hint: Any = None,
    ) -> RowPartition:
        """Value i is in row `value_rowids[i]`; these never decrease.

        Args:
            value_rowids: [nvals].
            nrows: how many rows there are; by default one more than the last of value_rowids.
            validate: whether to check them.
            dtype: as for `from_row_splits`.
            dtype_hint: likewise.
        """
        rowids = _vector(value_rowids, "value_rowids", dtype, dtype_hint)
        known = known_integer(convert_to_tensor(nrows)) if nrows is not None else None
        if known is not None and known < 0:
            raise ValueError(f"RowPartition: Expected nrows >= 0; got {known}")
        return _made(splits_from_rowids(rowids, nrows, validate), "value_rowids", validate)

    @classmethod
    def from_uniform_row_length(
        cls,
        uniform_row_length: Any,
        nvals: Any = None,
        nrows: Any = None,
        validate: bool = True,
        dtype: Any = None,
        dtype_hint: Any = None,
    ) -> RowPartition:
        """All rows have the same length.

        Args:
            uniform_row_length: the length.
            nvals: the number of values; `nrows` times the length if None.
            nrows: the number of rows, needed if the length is 0; what the values fill if None.
            validate: whether to check that the values fill the rows.
            dtype: as for `from_row_splits`.
            dtype_hint: likewise.

        Raises:
            ValueError: neither `nvals` nor `nrows` is given, or they contradict each other.
        """
        if nrows is None and nvals is None:
            raise ValueError("Either (or both) of nvals and nrows must be specified")
        given = [x for x in (uniform_row_length, nvals, nrows) if x is not None]
        kind = _kind_of(given, dtype, dtype_hint)
        length = _scalar(uniform_row_length, kind)
        if nrows is not None:
            rows = _scalar(nrows, kind)
        elif known_integer(length) == 0:
            rows = _scalar(0, kind)
        else:
            rows = division.floordiv(
                _scalar(nvals, kind), arithmetic.maximum(length, _scalar(1, kind))
            )
        if validate and nvals is not None:
            _check_filled(length, rows, _scalar(nvals, kind))
        one = _scalar(1, kind)
        splits = arithmetic.multiply(ranges.range(arithmetic.add(rows, one)), length)
        fixed = known_integer(length)
        uniform = length if fixed is None else fixed
        return cls(splits, uniform_row_length=uniform, internal=_FACTORY)

    # Properties.

    @property
    def dtype(self) -> DType:
        """The dtype of its vectors, int32 or int64."""
        return self._row_splits.dtype

    def row_splits(self) -> Tensor:
        """[nrows + 1], the start of each row, followed by the end of the last one."""
        return self._row_splits

    def value_rowids(self) -> Tensor:
        """[nvals], the row id of each value."""
        return construction.row_splits_to_segment_ids(self._row_splits, out_type=self.dtype)

    def nvals(self) -> Tensor:
        """The number of values, an integer scalar."""
        return self._row_splits[-1]

    def nrows(self) -> Tensor:
        """The number of rows, an integer scalar."""
        rows = self.static_nrows
        if rows is not None:
            return _scalar(rows, self.dtype)
        one = _scalar(1, self.dtype)
        return arithmetic.subtract(shapes.size(self._row_splits, self.dtype), one)

    def uniform_row_length(self) -> Tensor | None:
        """The length of all rows; None unless it is known to be equal."""
        return None if self._uniform is None else _scalar(self._uniform, self.dtype)

    def row_starts(self) -> Tensor:
        """[nrows], the start of each row."""
        return self._row_splits[:-1]

    def row_limits(self) -> Tensor:
        """[nrows], the end of each row."""
        return self._row_splits[1:]

    def row_lengths(self) -> Tensor:
        """[nrows], the length of each row."""
        return arithmetic.subtract(self.row_limits(), self.row_starts())

    def offsets_in_rows(self) -> Tensor:
        """[nvals], the position of each value in its row."""
        rowids = self.value_rowids()
        numbers = ranges.range(self.nvals())
        return arithmetic.subtract(numbers, gathering.gather(self.row_starts(), rowids))

    @property
    def static_nrows(self) -> int | None:
        """The number of rows; None if unknown."""
        splits = self._row_splits.shape
        return None if splits.rank is None or splits[0] is None else int(splits[0]) - 1

    @property
    def static_nvals(self) -> int | None:
        """The number of values; None if unknown."""
        if isinstance(self._row_splits, SymbolicTensor):
            rows, length = self.static_nrows, self._uniform
            return rows * length if isinstance(length, int) and rows is not None else None
        return known_integer(self.nvals())

    @property
    def static_uniform_row_length(self) -> int | None:
        """The common row length; None if unknown or if lengths differ."""
        return None if self._uniform is None else known_integer(self._uniform)

    def is_uniform(self) -> bool:
        """Whether it was created from one row length; False if lengths merely agree."""
        return self._uniform is not None

    def with_dtype(self, dtype: Any) -> RowPartition:
        """The same, with vectors of another dtype.

        Args:
            dtype: int32 or int64.

        Raises:
            ValueError: the dtype is neither int32 nor int64.
        """
        kind = _index_dtype(dtype)
        if kind is self.dtype:
            return self
        uniform = self._uniform
        if isinstance(uniform, Tensor):
            uniform = casting.cast(uniform, kind)
        splits = casting.cast(self._row_splits, kind)
        return RowPartition(splits, uniform_row_length=uniform, internal=_FACTORY)

    def __repr__(self) -> str:
        if self._uniform is not None:
            length = self.uniform_row_length()
            return f"tf.RowPartition(nrows={self.nrows()}, uniform_row_length={length})"
        return f"tf.RowPartition(row_splits={self._row_splits})"


_FACTORY = object()


def partition_of(row_splits: Tensor, uniform: int | Tensor | None) -> RowPartition:
    """The partition of one level of a ragged tensor, whose row splits were checked before."""
    return RowPartition(row_splits, uniform_row_length=uniform, internal=_FACTORY)


def _made(splits: Tensor, what: str, validate: bool) -> RowPartition:
    if validate:
        zero = _scalar(0, splits.dtype)
        rising = reduction.reduce_all(comparison.less_equal(splits[:-1], splits[1:]))
        require(
            logic.logical_and(comparison.equal(splits[0], zero), rising),
            f"RowPartition.from_{what}: rows must begin at 0 and have no negative length; row "
            "splits",
            splits,
        )
    return RowPartition(splits, internal=_FACTORY)


def _check_filled(length: Tensor, rows: Tensor, values: Tensor) -> None:
    known = [known_integer(x) for x in (length, rows, values)]
    if None not in known:
        if known[0] * known[1] != known[2]:  # type: ignore[operator]  # none is None
            raise ValueError(
                f"RowPartition: uniform_row_length={known[0]} times nrows={known[1]} must equal "
                f"nvals={known[2]}"
            )
        return
    require(
        comparison.equal(arithmetic.multiply(length, rows), values),
        "RowPartition: uniform_row_length times nrows must equal nvals",
        length,
        rows,
        values,
    )


def _vector(given: Any, name: str, dtype: Any, dtype_hint: Any) -> Tensor:
    """A partitioning vector in the requested dtype, or in its own."""
    found = convert_to_tensor(given)
    kind = _kind_of([given], dtype, dtype_hint)
    if not found.dtype.is_integer and found.shape.num_elements() != 0:
        raise ValueError(f"RowPartition: {name} must have dtype int32 or int64, got {found.dtype}")
    if found.shape.rank not in {1, None}:
        raise ValueError(f"RowPartition: {name} must be a vector, got shape {found.shape.text}")
    return casting.cast(found, kind)


def _kind_of(given: list[Any], dtype: Any, dtype_hint: Any) -> DType:
    """The requested dtype, else that of the first tensor or int32 array, else the hint."""
    if dtype is not None:
        return _index_dtype(dtype)
    for x in given:
        if isinstance(x, Tensor):
            return _index_dtype(x.dtype)
        if isinstance(x, np.ndarray) and x.dtype == np.int32:
            return dtypes.int32
    return dtypes.int64 if dtype_hint is None else _index_dtype(dtype_hint)


def _index_dtype(dtype: Any) -> DType:
    kind = dtypes.as_dtype(dtype)
    if kind not in dtypes.INDEX:
        raise ValueError(f"RowPartition: dtype must be int32 or int64, got {kind.name}")
    return kind


def _scalar(x: Any, kind: DType) -> Tensor:
    return casting.cast(convert_to_tensor(x), kind)
