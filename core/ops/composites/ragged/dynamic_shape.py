"""DynamicRaggedShape: the sizes of all axes of a ragged tensor, as a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace import late
from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.ops.array import casting, joining, shapes
from pinnace.ops.composites.checks import require
from pinnace.ops.composites.extension.types import BatchableExtensionType
from pinnace.ops.composites.ragged.partitions import known_integer
from pinnace.ops.composites.ragged.row_partition import RowPartition, partition_of
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.math import arithmetic, comparison

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType

__all__ = ["DynamicRaggedShape"]


class _AskedByOps:
    """The attribute by which `execute` recognises composite arguments that handle ops."""

    _takes_ops = "shape"

    @staticmethod
    def _answer(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return late.answer_of_shapes(name, args, kwargs)


class DynamicRaggedShape(_AskedByOps, BatchableExtensionType):
    """The shape of a ragged tensor, the result of `shape(x)`.

    It is the shape of a tensor of `inner_shape` whose first axis `row_partitions` divide into
    nested rows, the innermost partition last. Without partitions it is the shape of a tensor.

    Args:
        row_partitions: RowPartitions, the outermost first.
        inner_shape: [inner rank], the sizes of the axes of the flat values.
        dtype: int32 or int64; by default that of the partitions, or of `inner_shape`, or int64.
        validate: whether to check what is not known while tracing when the graph runs.
        static_inner_shape: the part of `inner_shape` known while tracing.

    Raises:
        ValueError: partitions, or the last one and `inner_shape`, do not fit each other.

    Source:
        TensorFlow's `tf.experimental.DynamicRaggedShape`.
    """

    __name__ = "tf.DynamicRaggedShape"

    _row_partitions: tuple[RowPartition, ...]
    _inner_shape: Tensor
    _static_inner_shape: Shape

    def __init__(
        self,
        row_partitions: Any,
        inner_shape: Any,
        dtype: Any = None,
        validate: bool = False,
        static_inner_shape: Any = None,
    ) -> None:
        partitions = _checked(row_partitions)
        kind = _dtype_of(partitions, inner_shape, dtype)
        self._row_partitions = tuple(one.with_dtype(kind) for one in partitions)
        vector, static = _sizes(inner_shape, kind)
        if static_inner_shape is not None:
            static = static.merge_with(Shape(static_inner_shape))
        self._inner_shape = vector
        self._static_inner_shape = static
        self._check_fit(validate)

    @classmethod
    def from_lengths(
        cls, lengths: Any, num_row_partitions: int | None = None, dtype: Any = dtypes.int64
    ) -> DynamicRaggedShape:
        """The shape with these lengths: `[2, (3, 1)]` is that of `[[0, 0, 0], [0]]`.

        Args:
            lengths: a list: for each axis an int, or a tuple of the lengths of all its rows.
            num_row_partitions: how many axes after the first are partitions; by default up to the
                last one that is a tuple.
            dtype: int32 or int64.

        Raises:
            ValueError: the lengths have another form, or do not fit each other.
        """
        _check_lengths(lengths)
        most = max((axis for axis, one in enumerate(lengths) if isinstance(one, tuple)), default=0)
        count = most if num_row_partitions is None else num_row_partitions
        if not isinstance(count, int):
            raise ValueError(f"num_row_partitions should be an int or None, got {count!r}")  # noqa: TRY004 (TensorFlow's class)
        if not most <= count <= max(len(lengths) - 1, 0):
            raise ValueError(
                f"num_row_partitions should be at least {most}, up to the last axis whose rows "
                f"differ, and less than `len(lengths)` ({len(lengths)}), got {count}"
            )
        if not count:
            return cls([], lengths, dtype=dtype)
        partitions = []
        rows = lengths[0]
        for one in lengths[1 : count + 1]:
            if isinstance(one, int):
                made = RowPartition.from_uniform_row_length(one, one * rows, nrows=rows)
            elif rows == len(one):
                made = RowPartition.from_row_lengths(one)
            else:
                raise ValueError(
                    f"Shape not consistent: {rows} rows were given {len(one)} lengths, {one}"
                )
            partitions.append(made)
            rows = one * rows if isinstance(one, int) else sum(one)
        return cls(partitions, [rows, *lengths[count + 1 :]], dtype=dtype)

    @classmethod
    def from_row_partitions(cls, row_partitions: Any, dtype: Any = None) -> DynamicRaggedShape:
        """The shape of partitions and one inner axis.

        Args:
            row_partitions: at least one, the outermost first.
            dtype: int32 or int64; that of the partitions if None.

        Raises:
            ValueError: no partitions are given.
        """
        partitions = _checked(row_partitions)
        if not partitions:
            raise ValueError("row_partitions cannot be empty")
        return cls(partitions, [partitions[-1].nvals()], dtype=dtype)

    @classmethod
    def from_tensor(cls, t: Any, dtype: Any = None) -> DynamicRaggedShape:
        """The shape of a tensor or a ragged tensor.

        Args:
            t: the tensor.
            dtype: int32 or int64; of the row splits if None, int32 of a tensor.
        """
        if not isinstance(t, RaggedTensor):
            t = convert_to_tensor(t)
            return cls([], shapes.shape(t), dtype=dtype, static_inner_shape=t.shape)
        partitions = [partition_of(one._row_splits, one._uniform) for one in t._levels()]
        flat = t.flat_values
        return cls(partitions, shapes.shape(flat), dtype=dtype, static_inner_shape=flat.shape)

    # Properties.

    @property
    def row_partitions(self) -> tuple[RowPartition, ...]:
        """The partitions before the flat values, outermost first."""
        return self._row_partitions

    @property
    def num_row_partitions(self) -> int:
        """The number of partitions."""
        return len(self._row_partitions)

    @property
    def inner_shape(self) -> Tensor:
        """[inner_rank], the sizes of the axes of the flat values."""
        return self._inner_shape

    @property
    def inner_rank(self) -> int | None:
        """The rank of the flat values, None if unknown."""
        return self._known.rank

    @property
    def _known(self) -> Shape:
        """The static part of the inner shape; all of it unless a function is traced."""
        inner = self._inner_shape
        if isinstance(inner, SymbolicTensor):
            return self._static_inner_shape
        return Shape(np.asarray(inner).tolist())

    @property
    def rank(self) -> int | None:
        """The rank, None if unknown."""
        inner = self.inner_rank
        return None if inner is None else inner + len(self._row_partitions)

    @property
    def dtype(self) -> DType:
        """The dtype of the sizes, int32 or int64."""
        return self._inner_shape.dtype

    def is_uniform(self, axis: int) -> bool:
        """Whether an axis has one size, as all except ragged ones have.

        Args:
            axis: from 0.

        Raises:
            IndexError: there is no such axis.
        """
        if not isinstance(axis, int):
            raise TypeError(f"axis must be an integer, got {axis!r}")
        if axis < 0:
            raise IndexError(f"Negative axis values are not supported, got {axis}")
        if self.rank is not None and axis >= self.rank:
            raise IndexError(f"Expected axis={axis} < rank={self.rank}")
        partitions = self._row_partitions
        return axis == 0 or axis > len(partitions) or partitions[axis - 1].is_uniform()

    def static_lengths(self, ragged_lengths: bool = True) -> list[Any]:
        """The static lengths, in the form of `from_lengths`.

        Args:
            ragged_lengths: whether the lengths of ragged axes are told; None stands for them
                otherwise.

        Returns:
            For each axis an int, a tuple of the lengths of its rows, or None where nothing is
            known; an Ellipsis at the end if the rank is not known.
        """
        static = self._known
        inner = [...] if static.rank is None else static.as_list()
        partitions = self._row_partitions
        if not partitions:
            return inner
        found: list[Any] = [partitions[0].static_nrows]
        for one in partitions:
            if one.is_uniform():
                found.append(one.static_uniform_row_length)
            elif ragged_lengths and not isinstance(one.row_splits(), SymbolicTensor):
                found.append(tuple(np.asarray(one.row_lengths()).tolist()))
            else:
                found.append(None)
        return found + (inner if static.rank is None else inner[1:])

    def with_dtype(self, dtype: Any) -> DynamicRaggedShape:
        """The same shape, with sizes of another dtype.

        Args:
            dtype: int32 or int64.
        """
        if dtypes.as_dtype(dtype) is self.dtype:
            return self
        return self._of(self._row_partitions, self._inner_shape, dtype, self._known)

    def __getitem__(self, index: Any) -> Any:
        """The size of an axis, or the shape of some axes.

        Args:
            index: an int, or a slice without a step. One that does not begin at 0 may take in
                uniform axes alone.

        Raises:
            IndexError: there is no such axis, or the slice has a step.
            ValueError: an axis is ragged, or the rank would have to be known.
        """
        if isinstance(index, slice):
            if index.step not in {None, 1}:
                raise IndexError(f"Cannot stride through a shape, got a step of {index.step}")
            return self._slice(*self._bounds(index))
        if not isinstance(index, int):
            raise TypeError(f"Argument is not an int or a slice: {index!r}")
        if index < 0:
            if self.rank is None:
                raise ValueError("Rank must be known to use __getitem__ with a negative index.")
            index += self.rank
        return self._size(index)

    def __repr__(self) -> str:
        text = ", ".join("..." if one is ... else str(one) for one in self.static_lengths())
        return f"<DynamicRaggedShape lengths=[{text}] num_row_partitions={self.num_row_partitions}>"

    # For functions that create tensors with this shape.

    def with_rows(self, flat_values: Any) -> Any:
        """Flat values of the inner shape, divided into rows by the partitions."""
        result = flat_values
        for one in reversed(self._row_partitions):
            result = RaggedTensor(result, one.row_splits(), internal=True, uniform=one._uniform)
        return result

    def with_num_row_partitions(self, count: int) -> DynamicRaggedShape:
        """The same shape with this many partitions; added ones are uniform.

        Raises:
            ValueError: the rank is not known or too small, or a ragged axis would be no partition.
        """
        partitions = self._row_partitions
        if count == len(partitions):
            return self
        if self.rank is None or count >= self.rank:
            raise ValueError(
                f"num_row_partitions must be less than the rank, which must be known, got {count} "
                f"of {self}"
            )
        sizes = [self._inner_size(axis) for axis in range(self.inner_rank or 0)]
        if count > len(partitions):
            more = list(partitions)
            rows = sizes[0]
            for size in sizes[1 : 1 + count - len(partitions)]:
                more.append(
                    RowPartition.from_uniform_row_length(size, nrows=rows, dtype=self.dtype)
                )
                rows = arithmetic.multiply(rows, size) if _symbolic(rows, size) else rows * size
            return self._of(more, [rows, *sizes[1 + count - len(partitions) :]], self.dtype)
        for axis in range(count + 1, len(partitions) + 1):
            if not self.is_uniform(axis):
                raise ValueError(f"Cannot get an inner shape over a ragged dimension: axis {axis}")
        taken = partitions[count:]
        rows = taken[0].static_nrows
        first = taken[0].nrows() if rows is None else rows
        inner = [first, *(one._uniform for one in taken), *sizes[1:]]
        return self._of(partitions[:count], inner, self.dtype)

    @staticmethod
    def _of(partitions: Any, inner: Any, dtype: Any, static: Any = None) -> DynamicRaggedShape:
        return DynamicRaggedShape(partitions, inner, dtype=dtype, static_inner_shape=static)

    def _inner_size(self, axis: int) -> Any:
        known = self._known[axis]
        return self._inner_shape[axis] if known is None else known

    def _bounds(self, index: slice) -> tuple[int, int]:
        """The first axis and the one after the last, clamped to the rank."""
        rank, start, stop = self.rank, index.start or 0, index.stop
        if rank is None and (start < 0 or stop is None or stop < 0):
            raise ValueError(
                "Rank must be known to use __getitem__ with a negative index or without a stop."
            )
        if rank is None:
            return start, stop
        first, last, _ = slice(start, stop).indices(rank)
        return first, last

    def _slice(self, start: int, stop: int) -> DynamicRaggedShape:
        if stop <= start:
            return self._of([], [], self.dtype)
        kept = self if self.rank is not None and stop >= self.rank else self._first(stop)
        if start == 0:
            return kept
        if not all(one.is_uniform() for one in kept.row_partitions):
            raise ValueError(
                f"All relevant dimensions must be uniform, got [{start}:{stop}] of {self}"
            )
        flat = kept.with_num_row_partitions(0)
        static = flat._known
        return self._of([], flat.inner_shape[start:], self.dtype, static[start:])

    def _first(self, count: int) -> DynamicRaggedShape:
        """The shape of the first axes."""
        partitions = self._row_partitions
        if count > len(partitions):
            inner = count - len(partitions)
            static = self._known
            known = None if static.rank is None else static[:inner]
            return self._of(partitions, self._inner_shape[:inner], self.dtype, known)
        if count == 1:
            return self._of([], [partitions[0].nrows()], self.dtype)
        return DynamicRaggedShape.from_row_partitions(partitions[: count - 1])

    def _size(self, axis: int) -> Tensor:
        partitions = self._row_partitions
        if axis > len(partitions) or not partitions:
            if self.rank is None:
                raise ValueError("Rank must be known to use __getitem__ on a large index.")
            if axis >= self.rank:
                raise IndexError(f"Index is too big: {axis}>={self.rank}")
        if axis < 0:
            raise IndexError(f"Index must be non-negative: {axis}")
        if not self.is_uniform(axis):
            raise ValueError(
                f"Index {axis} is not uniform: the rows have no one length\n"
                "  Try: row_partitions[axis - 1].row_lengths()"
            )
        if partitions and axis == 0:
            return partitions[0].nrows()
        if axis > len(partitions) or not partitions:
            size = self._inner_size(axis - len(partitions))
            return casting.cast(convert_to_tensor(size), self.dtype)
        found = partitions[axis - 1].uniform_row_length()
        assert found is not None  # noqa: S101  # is_uniform
        return found

    def _check_fit(self, validate: bool) -> None:
        """Check that each partition has as many rows as the one before has values."""
        pairs = list(zip(self._row_partitions, self._row_partitions[1:], strict=False))
        for axis, (outer, inner) in enumerate(pairs):
            text = f"RowPartitions in DynamicRaggedShape do not align between {axis} and {axis + 1}"
            _check_equal(outer.nvals(), inner.nrows(), text, validate)
        if self._row_partitions and self._known.rank != 0:
            last = self._row_partitions[-1]
            static = self._known
            size = self._inner_shape[0] if static.rank is None else self._inner_size(0)
            text = "Last row partition does not match inner_shape."
            _check_equal(last.nvals(), size, text, validate)


def _check_equal(one: Any, other: Any, claim: str, validate: bool) -> None:
    if not _symbolic(one, other):
        if int(one) != int(other):
            raise ValueError(f"{claim} ({int(one)} values, {int(other)} rows)")
    elif validate:
        kind = one.dtype if isinstance(one, Tensor) else dtypes.int64
        other = casting.cast(convert_to_tensor(other), kind)
        require(comparison.equal(one, other), claim, one, other)


def _symbolic(*values: Any) -> bool:
    return any(isinstance(value, SymbolicTensor) for value in values)


def _check_lengths(lengths: Any) -> None:
    if not isinstance(lengths, list):
        raise ValueError(f"DynamicRaggedShape: lengths should be a list, got {lengths!r}")  # noqa: TRY004 (TensorFlow's class)
    for one in lengths:
        inner = one if isinstance(one, tuple) else (one,)
        if not all(isinstance(size, int) for size in inner):
            raise ValueError(
                "DynamicRaggedShape: element of lengths should be int or tuple of ints: "
                f"instead {one!r}"
            )


def _checked(row_partitions: Any) -> tuple[RowPartition, ...]:
    if not isinstance(row_partitions, Iterable):
        raise TypeError(
            f"row_partitions should be a list of row partitions. Instead, got {row_partitions!r}"
        )
    partitions = tuple(row_partitions)
    for one in partitions:
        if not isinstance(one, RowPartition):
            raise TypeError(f"row_partitions contains {one!r} which is not a RowPartition")
    return partitions


def _dtype_of(partitions: tuple[RowPartition, ...], inner_shape: Any, dtype: Any) -> DType:
    """The requested dtype, or that of the partitions or the inner shape, or int64."""
    if dtype is not None:
        kind = dtypes.as_dtype(dtype)
    elif partitions:
        kind = partitions[0].dtype
    elif isinstance(inner_shape, Tensor):
        kind = inner_shape.dtype
    elif isinstance(inner_shape, np.ndarray) and inner_shape.dtype == np.int32:
        kind = dtypes.int32
    else:
        kind = dtypes.int64
    if kind not in dtypes.INDEX:
        raise ValueError(f"Illegal dtype: {kind.name}: sizes must be int32 or int64")
    return kind


def _sizes(given: Any, kind: DType) -> tuple[Tensor, Shape]:
    """Sizes as a vector, and their static values."""
    if isinstance(given, Shape):
        given = given.as_list()
    if isinstance(given, (list, tuple)):
        known = [known_integer(size) if isinstance(size, Tensor) else int(size) for size in given]
        if None not in known:
            return convert_to_tensor(np.array(known, kind.numpy)), Shape(known)
        parts = [casting.cast(convert_to_tensor(size), kind) for size in given]
        return joining.stack(parts), Shape(known)
    vector = casting.cast(convert_to_tensor(given), kind)
    if vector.shape.rank not in {1, None}:
        raise ValueError(f"inner_shape must be a vector of sizes, got shape {vector.shape.text}")
    if not isinstance(vector, SymbolicTensor):
        return vector, Shape(np.asarray(vector).tolist())
    count = vector.shape[0] if vector.shape.rank == 1 else None
    return vector, Shape(None if count is None else [None] * count)
