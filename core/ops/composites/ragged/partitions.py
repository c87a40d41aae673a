"""Ragged tensors from values and a row partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.composite import CompositeTensor
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Operands, SymbolicTensor, Tensor
from pinnace.ops.array import casting, joining, reshaping, shapes, sorting
from pinnace.ops.composites.checks import require, require_within
from pinnace.ops.math import arithmetic, comparison, cumulation, division, logic, ranges, reduction

__all__ = [
    "RowPartitioned",
    "known_integer",
    "nrows_of",
    "splits_from_lengths",
    "splits_from_rowids",
    "values_of",
]


class RowPartitioned(CompositeTensor):
    """Values in rows, with constructors; `RaggedTensor` adds the operations."""

    def __init__(
        self, values: Any, row_splits: Any, internal: bool = False, uniform: Any = None
    ) -> None:
        if not internal:
            raise ValueError(
                "RaggedTensor is made by a factory method\n"
                "  Try: RaggedTensor.from_row_splits(values, row_splits), or ragged.constant"
            )
        self._values = values
        self._row_splits: Tensor = row_splits
        self._uniform: Tensor | int | None = uniform

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """Row i is `values[row_splits[i]:row_splits[i + 1]]`.

        Args:
            values: [n, ...], tensor or ragged tensor.
            row_splits: [rows + 1], int32 or int64, from 0 to n, never decreasing.
            name: accepted for TensorFlow's sake.
            validate: whether to check that.

        Raises:
            InvalidArgumentError: row_splits are not such.
        """
        del name
        values = values_of(values)
        splits = _partition(row_splits, "row_splits", values)
        if splits.shape.rank is not None and splits.shape[0] == 0:
            raise ValueError("RaggedTensor: row_splits must have at least one element, got none")
        made = cls(values, splits, internal=True)
        if validate:
            made._check("row_splits")
        return made

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """A tensor with rows of these lengths, which add up to the number of values."""
        del name
        values = values_of(values)
        lengths = _partition(row_lengths, "row_lengths", values)
        made = cls(values, splits_from_lengths(lengths), internal=True)
        if validate:
            made._check("row_lengths")
        return made

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """A tensor whose rows extend from each start to the next; the first start is 0."""
        del name
        values = values_of(values)
        starts = _partition(row_starts, "row_starts", values)
        end = reshaping.reshape(casting.cast(nrows_of(values), starts.dtype), [1])
        made = cls(values, joining.concat([starts, end], 0), internal=True)
        if validate:
            made._check("row_starts")
        return made

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """A tensor whose rows extend from the previous limit to their own."""
        del name
        values = values_of(values)
        limits = _partition(row_limits, "row_limits", values)
        zero = np.zeros(1, limits.dtype.numpy)
        made = cls(values, joining.concat([zero, limits], 0), internal=True)
        if validate:
            made._check("row_limits")
        return made

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Self:
        """Value i is in row `value_rowids[i]`; these never decrease.

        Args:
            values: [n, ...].
            value_rowids: [n], int32 or int64.
            nrows: how many rows there are; by default one more than the last of value_rowids.
            name: accepted for TensorFlow's sake.
            validate: whether to check them.
        """
        del name
        values = values_of(values)
        rowids = _partition(value_rowids, "value_rowids", values)
        made = cls(values, splits_from_rowids(rowids, nrows, validate), internal=True)
        if validate:
            made._check("value_rowids")
        return made

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: Any,
        nrows: Any = None,
        validate: bool = True,
        name: str | None = None,
    ) -> Self:
        """Every row has the same length.

        Args:
            values: [rows * length, ...].
            uniform_row_length: integer scalar.
            nrows: how many rows; needed if the length is 0.
            validate: whether to check that the values fill the rows.
            name: accepted for TensorFlow's sake.
        """
        del name
        values = values_of(values)
        kind = values._row_splits.dtype if isinstance(values, RowPartitioned) else dtypes.int64
        length = casting.cast(convert_to_tensor(uniform_row_length), kind)
        total = casting.cast(nrows_of(values), kind)
        if nrows is not None:
            count = casting.cast(convert_to_tensor(nrows), kind)
        elif known_integer(length) == 0:
            count = casting.cast(0, kind)
        else:
            # At least 1: a length of 0 makes no rows.
            count = division.floordiv(total, arithmetic.maximum(length, casting.cast(1, kind)))
        if validate:
            filled = logic.logical_and(
                comparison.greater_equal(length, casting.cast(0, kind)),
                comparison.equal(arithmetic.multiply(length, count), total),
            )
            require(
                filled,
                "RaggedTensor.from_uniform_row_length: the number of values must be that of rows "
                "times their length",
                total,
                count,
                length,
            )
        one = casting.cast(1, kind)
        splits = arithmetic.multiply(ranges.range(arithmetic.add(count, one)), length)
        fixed = known_integer(length)
        return cls(values, splits, internal=True, uniform=length if fixed is None else fixed)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """The tensor with these row splits, outermost first; `flat_values` if there are none."""
        del name
        return _nest(flat_values, nested_row_splits, cls.from_row_splits, "row_splits", validate)

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """The tensor with these row lengths, outermost first."""
        del name
        return _nest(flat_values, nested_row_lengths, cls.from_row_lengths, "row_lengths", validate)

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Any,
        nested_nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """The tensor with these row ids of values, outermost first."""
        del name
        ids = list(nested_value_rowids)
        rows = [None] * len(ids) if nested_nrows is None else list(nested_nrows)
        if len(rows) != len(ids):
            raise ValueError(
                "RaggedTensor.from_nested_value_rowids: nested_nrows must be as long as "
                f"nested_value_rowids ({len(ids)}), got {len(rows)}"
            )
        result = flat_values
        for rowids, count in zip(reversed(ids), reversed(rows), strict=True):
            result = cls.from_value_rowids(result, rowids, count, validate=validate)
        return result

    if TYPE_CHECKING:  # `methods` binds them

        @classmethod
        def from_tensor(
            cls,
            tensor: Any,
            lengths: Any = None,
            padding: Any = None,
            ragged_rank: int = 1,
            name: str | None = None,
            row_splits_dtype: Any = dtypes.int64,
        ) -> Any:
            """The rows of a tensor, without padding. See `ragged.construction`."""

        @classmethod
        def from_sparse(
            cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = dtypes.int64
        ) -> Any:
            """The rows of a sparse matrix whose values begin at column 0 without gaps."""

    def _check(self, what: str) -> None:
        """Raise InvalidArgumentError unless the row splits fit the values."""
        splits = self._row_splits
        zero = casting.cast(0, splits.dtype)
        rising = reduction.reduce_all(comparison.less_equal(splits[:-1], splits[1:]))
        require(
            logic.logical_and(comparison.equal(splits[0], zero), rising),
            f"RaggedTensor.from_{what}: rows must begin at 0 and have no negative length; row "
            "splits",
            splits,
        )
        count = casting.cast(nrows_of(self._values), splits.dtype)
        require(
            comparison.equal(splits[-1], count),
            f"RaggedTensor.from_{what}: the rows must have as many values as there are",
            splits[-1],
            count,
        )


def splits_from_lengths(lengths: Tensor) -> Tensor:
    """The row splits for these row lengths."""
    zero = np.zeros(1, lengths.dtype.numpy)
    return joining.concat([zero, cumulation.cumsum(lengths)], 0)


def splits_from_rowids(rowids: Tensor, nrows: Any, validate: bool) -> Tensor:
    """The row splits for values with these row ids."""
    kind = rowids.dtype
    if nrows is None:
        # One more than the last; none for no values.
        minus = np.full(1, -1, kind.numpy)
        last = joining.concat([minus, rowids], 0)[-1]
        count = arithmetic.add(last, casting.cast(1, kind))
    else:
        count = casting.cast(convert_to_tensor(nrows), kind)
    if validate:
        rising = reduction.reduce_all(comparison.less_equal(rowids[:-1], rowids[1:]))
        claim = "RaggedTensor.from_value_rowids: value_rowids must be sorted"
        require(rising, claim, rowids)
        require_within(rowids, count, f"{claim}, and below the number of rows")
    numbers = ranges.range(arithmetic.add(count, casting.cast(1, kind)))
    return sorting.searchsorted(rowids, numbers, side="left", out_type=kind)


def values_of(values: Any) -> Any:
    """The values of a row partition: a ragged tensor unchanged, anything else as a tensor."""
    if isinstance(values, CompositeTensor) and not hasattr(values, "__tf_tensor__"):
        return values
    return values if isinstance(values, RowPartitioned) else convert_to_tensor(values)


def _partition(given: Any, name: str, values: Any) -> Tensor:
    """A partitioning vector, in the dtype of the row splits below."""
    hint = values._row_splits.dtype if isinstance(values, RowPartitioned) else dtypes.int64
    if isinstance(given, Operands) or (
        isinstance(given, (np.ndarray, np.generic)) and np.asarray(given).dtype == np.int32
    ):
        found = convert_to_tensor(given)
    else:
        found = casting.cast(convert_to_tensor(given, dtype_hint=hint), hint)
    if found.dtype not in dtypes.INDEX:
        raise ValueError(f"RaggedTensor: {name} must be int32 or int64, got {found.dtype.name}")
    if found.shape.rank not in {1, None}:
        raise ValueError(f"RaggedTensor: {name} must be a vector, got shape {found.shape.text}")
    if isinstance(values, RowPartitioned) and found.dtype is not hint:
        raise ValueError(
            f"RaggedTensor: {name} is {found.dtype.name}, the row splits below are {hint.name}\n"
            f"  Try: with_row_splits_dtype('{found.dtype.name}')"
        )
    return found


def _nest(flat: Any, nested: Any, make: Any, what: str, validate: bool) -> Any:
    if isinstance(nested, Operands):
        raise TypeError(f"RaggedTensor: nested {what} must be a list of vectors, got a tensor")
    result = flat
    for part in reversed(list(nested)):
        result = make(result, part, validate=validate)
    return result if nested else convert_to_tensor(flat)


def nrows_of(values: Any) -> Any:
    """The number of rows of values, an integer tensor."""
    if isinstance(values, RowPartitioned):
        rows: Any = values
        return rows.nrows()
    if values.shape.rank == 0:
        raise ValueError("RaggedTensor: values must have at least one axis, got a scalar")
    if values.shape.rank and values.shape[0] is not None:
        return convert_to_tensor(np.int64(values.shape[0]))
    return shapes.shape(values, out_type=dtypes.int64)[0]


def known_integer(value: Any) -> int | None:
    """An integer scalar as an int; None if it is symbolic."""
    if isinstance(value, int):
        return value
    return None if isinstance(value, SymbolicTensor) else int(value)
