"""RowPartition: where rows begin and end, without the values in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.composite import CompositeSpec, CompositeTensor, kept_in_files_as
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Operands, SymbolicTensor, Tensor
from pinnace.ops.array import casting, constants, gathering, joining, reshaping, shapes
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.math import arithmetic, ranges, reduction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType

__all__ = ["RowPartition", "RowPartitionSpec"]


class RowPartition(CompositeTensor):
    """Values in rows of different length, one after the other: which rows they are in.

    Made by the `from_…` methods. A ragged tensor has one for each ragged axis.

    Args:
        row_splits: for the methods of this class.
        row_lengths: likewise.
        value_rowids: likewise.
        nrows: likewise.
        uniform_row_length: likewise.
        nvals: likewise.
        internal: likewise.

    Raises:
        ValueError: it is called by a program.
    """

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
        del row_splits, row_lengths, value_rowids, nrows, uniform_row_length, nvals
        if not isinstance(internal, RaggedTensor):
            raise ValueError(  # noqa: TRY004 (what TensorFlow raises)
                "RowPartition is made by a factory method\n  Try: RowPartition.from_row_splits"
            )
        # Rows of values that take no memory.
        self._rows = internal

    @classmethod
    def _of(cls, rows: RaggedTensor, dtype: Any = None) -> RowPartition:
        found = cls(None, internal=rows)
        return found if dtype is None else found.with_dtype(dtype)

    @classmethod
    def from_row_splits(
        cls, row_splits: Any, validate: bool = True, dtype: Any = None, dtype_hint: Any = None
    ) -> RowPartition:
        """Row i has the values from `row_splits[i]` up to `row_splits[i + 1]`.

        Args:
            row_splits: [rows + 1], integers from 0, never decreasing.
            validate: whether to check that.
            dtype: int32 or int64, of the row splits.
            dtype_hint: the dtype of what is no tensor, int64 if None.
        """
        splits = _integers(row_splits, dtype, dtype_hint)
        if splits.shape.rank not in {None, 1}:
            raise ValueError(f"RowPartition: row_splits must have one axis, got {splits.shape}")
        return cls._of(RaggedTensor.from_row_splits(_nothing(splits[-1]), splits, None, validate))

    @classmethod
    def from_row_lengths(
        cls, row_lengths: Any, validate: bool = True, dtype: Any = None, dtype_hint: Any = None
    ) -> RowPartition:
        """The rows have these lengths.

        Args:
            row_lengths: [rows], integers of at least 0.
            validate: whether to check that.
            dtype: see `from_row_splits`.
            dtype_hint: see there.
        """
        lengths = _integers(row_lengths, dtype, dtype_hint)
        values = _nothing(reduction.reduce_sum(lengths))
        return cls._of(RaggedTensor.from_row_lengths(values, lengths, None, validate))

    @classmethod
    def from_row_starts(
        cls,
        row_starts: Any,
        nvals: Any,
        validate: bool = True,
        dtype: Any = None,
        dtype_hint: Any = None,
    ) -> RowPartition:
        """Each row goes from its start to that of the next.

        Args:
            row_starts: [rows], integers, never decreasing; the first is 0.
            nvals: how many values there are.
            validate: whether to check that.
            dtype: see `from_row_splits`.
            dtype_hint: see there.
        """
        starts = _integers(row_starts, dtype, dtype_hint)
        values = _nothing(convert_to_tensor(nvals))
        return cls._of(RaggedTensor.from_row_starts(values, starts, None, validate))

    @classmethod
    def from_row_limits(
        cls, row_limits: Any, validate: bool = True, dtype: Any = None, dtype_hint: Any = None
    ) -> RowPartition:
        """Each row goes from the limit of the one before to its own.

        Args:
            row_limits: [rows], integers, never decreasing.
            validate: whether to check that.
            dtype: see `from_row_splits`.
            dtype_hint: see there.
        """
        limits = _integers(row_limits, dtype, dtype_hint)
        last = joining.concat([np.zeros(1, limits.dtype.numpy), limits], 0)[-1]
        return cls._of(RaggedTensor.from_row_limits(_nothing(last), limits, None, validate))

    @classmethod
    def from_value_rowids(
        cls,
        value_rowids: Any,
        nrows: Any = None,
        validate: bool = True,
        dtype: Any = None,
        dtype_hint: Any = None,
    ) -> RowPartition:
        """Value i is in row `value_rowids[i]`.

        Args:
            value_rowids: [n], integers, never decreasing.
            nrows: how many rows; one more than the last number if None.
            validate: whether to check that.
            dtype: see `from_row_splits`.
            dtype_hint: see there.
        """
        rowids = _integers(value_rowids, dtype, dtype_hint)
        values = _nothing(shapes.size(rowids))
        return cls._of(RaggedTensor.from_value_rowids(values, rowids, nrows, None, validate))

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
        """Every row has the same length.

        Args:
            uniform_row_length: an integer scalar.
            nvals: how many values there are; rows times their length if None.
            nrows: how many rows; values by the length if None.
            validate: whether to check that both fit.
            dtype: see `from_row_splits`.
            dtype_hint: see there.

        Raises:
            ValueError: neither `nvals` nor `nrows` is given.
        """
        if nvals is None and nrows is None:
            raise ValueError("RowPartition.from_uniform_row_length: nvals or nrows must be given")
        length = _integers(uniform_row_length, dtype, dtype_hint)
        if nvals is None:
            nvals = arithmetic.multiply(
                casting.cast(convert_to_tensor(nrows), length.dtype), length
            )
        values = _nothing(convert_to_tensor(nvals))
        rows = RaggedTensor.from_uniform_row_length(values, length, nrows, validate)
        return cls._of(rows, length.dtype)

    @property
    def dtype(self) -> DType:
        """int32 or int64: of row splits and the like."""
        return self._rows.row_splits.dtype

    def with_dtype(self, dtype: Any) -> RowPartition:
        """The same rows, told in another integer type."""
        kind = dtypes.as_dtype(dtype)
        if kind not in dtypes.INDEX:
            raise ValueError(f"RowPartition: dtype must be int32 or int64, got {kind.name}")
        if kind is self.dtype:
            return self
        rows = self._rows.with_row_splits_dtype(kind)
        uniform = self._rows._uniform
        if uniform is not None and rows._uniform is None:
            rows._uniform = uniform if isinstance(uniform, int) else casting.cast(uniform, kind)
        return RowPartition(None, internal=rows)

    def row_splits(self) -> Tensor:
        """[rows + 1]: where each row begins; the last is the number of values."""
        return self._rows.row_splits

    def row_lengths(self) -> Tensor:
        """[rows]: how many values each row has."""
        return self._rows.row_lengths()  # type: ignore[no-any-return]  # of the first axis

    def row_starts(self) -> Tensor:
        """[rows]: where each row begins."""
        return self._rows.row_starts()

    def row_limits(self) -> Tensor:
        """[rows]: where each row ends."""
        return self._rows.row_limits()

    def value_rowids(self) -> Tensor:
        """[n]: the row that each value is in."""
        return self._rows.value_rowids()

    def nrows(self) -> Tensor:
        """How many rows there are."""
        return self._rows.nrows()

    def nvals(self) -> Tensor:
        """How many values there are."""
        known = self.static_nvals
        if known is not None:
            return constants.constant(known, self.dtype)
        return self._rows.row_splits[-1]

    def uniform_row_length(self) -> Tensor | None:
        """The length of every row, if it was made with one."""
        found = self._rows.uniform_row_length
        return None if found is None else casting.cast(found, self.dtype)

    def offsets_in_rows(self) -> Tensor:
        """[n]: the place of each value in its row."""
        starts = gathering.gather(self.row_starts(), self.value_rowids())
        return arithmetic.subtract(ranges.range(self.nvals()), starts)

    def is_uniform(self) -> bool:
        """Whether it was made with one length for all rows."""
        return self._rows._uniform is not None

    @property
    def static_nrows(self) -> int | None:
        """How many rows there are, if that is known while tracing."""
        shape = self._rows.row_splits.shape
        return None if not shape.rank or shape[0] is None else int(shape[0]) - 1

    @property
    def static_nvals(self) -> int | None:
        """How many values there are, if that is known while tracing."""
        shape = self._rows.values.shape
        return shape[0] if shape.rank else None

    @property
    def static_uniform_row_length(self) -> int | None:
        """The length of every row, if it was made with one that is known while tracing."""
        found = self._rows._uniform
        return found if isinstance(found, int) else None

    @property
    def spec(self) -> RowPartitionSpec:
        """Its RowPartitionSpec."""
        uniform = self.static_uniform_row_length
        return RowPartitionSpec(self.static_nrows, self.static_nvals, uniform, self.dtype)

    def __repr__(self) -> str:
        splits = self.row_splits()
        told = splits if isinstance(splits, SymbolicTensor) else np.asarray(splits)
        return f"tf.RowPartition(row_splits={told})"


def _integers(value: Any, dtype: Any, hint: Any) -> Tensor:
    if isinstance(value, Operands):
        found = convert_to_tensor(value)
    else:
        plain = isinstance(value, np.ndarray) and value.dtype in (np.int32, np.int64)
        try:
            found = convert_to_tensor(value, None if plain else (dtype or hint or dtypes.int64))
        except TypeError as error:
            raise ValueError(f"RowPartition: rows must be told in integers: {error}") from None
    if found.dtype not in dtypes.INDEX:
        raise ValueError(
            f"RowPartition: rows must be told in int32 or int64, got {found.dtype.name}"
        )
    return found if dtype is None else casting.cast(found, dtype)


def _nothing(count: Tensor) -> Tensor:
    """Values without content, so many."""
    size = reshaping.reshape(casting.cast(count, dtypes.int64), [1])
    return constants.zeros(joining.concat([size, np.zeros(1, np.int64)], 0), dtypes.bool)


@kept_in_files_as("ROW_PARTITION_SPEC")
class RowPartitionSpec(CompositeSpec):
    """What is known of a row partition before there is one.

    Args:
        nrows: how many rows there are, if that is known.
        nvals: how many values there are.
        uniform_row_length: the length of every row, if they have one.
        dtype: int32 or int64.
    """

    __slots__ = ("_dtype", "_nrows", "_nvals", "_uniform")

    def __init__(
        self,
        nrows: Any = None,
        nvals: Any = None,
        uniform_row_length: Any = None,
        dtype: Any = dtypes.int64,
    ) -> None:
        self._nrows, self._nvals = _one(nrows), _one(nvals)
        self._uniform = _one(uniform_row_length)
        self._dtype = dtypes.as_dtype(dtype)

    @property
    def value_type(self) -> type:
        """RowPartition."""
        return RowPartition

    @property
    def dtype(self) -> DType:
        """int32 or int64."""
        return self._dtype

    @property
    def nrows(self) -> int | None:
        """How many rows there are, if that is known."""
        return self._nrows[0]

    @property
    def nvals(self) -> int | None:
        """How many values there are, if that is known."""
        return self._nvals[0]

    @property
    def uniform_row_length(self) -> int | None:
        """The length of every row, if they have one that is known."""
        return self._uniform[0]

    def _serialize(self) -> tuple[Any, ...]:
        return (self._nrows, self._nvals, self._uniform, self._dtype)

    def component_specs(self) -> tuple[TensorSpec, ...]:
        """Of the row splits."""
        rows = self._nrows[0]
        return (TensorSpec.of(Shape([None if rows is None else rows + 1]), self._dtype),)

    def to_components(self, value: Any) -> tuple[object, ...]:
        """The row splits."""
        return (value.row_splits(),)

    def from_components(self, components: Sequence[Any]) -> object:
        """The partition with these row splits, which are not looked at."""
        (splits,) = components
        if not isinstance(splits, Tensor):
            return components
        values = _nothing(splits[-1])
        return RowPartition(
            None,
            internal=RaggedTensor(values, splits, internal=True, uniform=self._uniform[0]),
        )


def _one(size: Any) -> Shape:
    """A size, or a shape of one axis, as the latter."""
    return size if isinstance(size, Shape) else Shape([size])
