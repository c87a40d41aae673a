"""DynamicRaggedShape: the shape of a tensor whose rows may differ in length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.composite import CompositeSpec, CompositeTensor
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.ops.array import casting, reshaping, shapes
from pinnace.ops.array.broadcasting import known_value
from pinnace.ops.composites.checks import require
from pinnace.ops.composites.ragged.row_partition import RowPartition, RowPartitionSpec
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.math import comparison

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType

__all__ = ["DynamicRaggedShape"]


class DynamicRaggedShape(CompositeTensor):
    """The shape of a ragged or a plain tensor.

    Args:
        row_partitions: the rows of the axes after the first, from the outermost.
        inner_shape: the shape of the flat values, a vector of integers.
        dtype: int32 or int64; that of the parts if None.
        validate: whether to check that the last partition has as many values as `inner_shape` says.
        static_inner_shape: what is known of `inner_shape` while tracing.

    Raises:
        ValueError: the parts do not fit.
    """

    def __init__(
        self,
        row_partitions: Sequence[RowPartition],
        inner_shape: Any,
        dtype: Any = None,
        validate: bool = False,
        static_inner_shape: Any = None,
    ) -> None:
        partitions = tuple(row_partitions)
        if not all(isinstance(one, RowPartition) for one in partitions):
            raise TypeError("row_partitions should be a list of RowPartition")
        kind = dtypes.as_dtype(dtype) if dtype is not None else _common(partitions, inner_shape)
        if kind not in dtypes.INDEX:
            raise ValueError(f"DynamicRaggedShape: dtype must be int32 or int64, got {kind.name}")
        sizes = casting.cast(_vector(inner_shape, kind), kind)
        if sizes.shape.rank not in {None, 1}:
            raise ValueError(
                f"DynamicRaggedShape: inner_shape must be a vector, got shape {sizes.shape.text}"
            )
        self._partitions = tuple(one.with_dtype(kind) for one in partitions)
        self._inner = sizes
        known = _static(sizes)
        if static_inner_shape is not None:
            known = known.merge_with(Shape(static_inner_shape))
        self._known = known
        self._check(validate)

    def _check(self, validate: bool) -> None:
        if not self._partitions:
            return
        if self._known.rank == 0:
            raise ValueError("If row_partitions are provided, must have inner_rank >= 1")
        last = self._partitions[-1]
        count = self._known[0] if self._known.rank else None
        if None not in {last.static_nvals, count} and last.static_nvals != count:
            raise ValueError(
                "Last row partition does not match inner_shape: it has "
                f"{last.static_nvals} values, and inner_shape begins with {count}"
            )
        for one, other in zip(self._partitions, self._partitions[1:], strict=False):
            if None not in {one.static_nvals, other.static_nrows} and (
                one.static_nvals != other.static_nrows
            ):
                raise ValueError(
                    "RowPartitions in DynamicRaggedShape do not align: one has "
                    f"{one.static_nvals} values, the next {other.static_nrows} rows"
                )
        if validate:
            require(
                comparison.equal(last.nvals(), self._inner[0]),
                "DynamicRaggedShape: the last partition must have as many values as inner_shape "
                "begins with",
                last.nvals(),
                self._inner,
            )

    @classmethod
    def from_lengths(
        cls,
        lengths: Sequence[Sequence[int] | int],
        num_row_partitions: int | None = None,
        dtype: Any = dtypes.int64,
    ) -> DynamicRaggedShape:
        """The shape whose axes have these sizes; a list has the length of every row of an axis.

        Args:
            lengths: a number for each axis whose rows are equal, else a list of numbers.
            num_row_partitions: how many axes after the first are partitions of rows; up to the last
                list if None.
            dtype: int32 or int64.

        Raises:
            ValueError: a list has another number of entries than there are rows, the first one is
                a list, or `num_row_partitions` does not reach the last list.
        """
        given = list(lengths)
        if not given:
            return cls((), [], dtype)
        whole = (int, np.integer)
        ragged = [place for place, one in enumerate(given) if not isinstance(one, whole)]
        if ragged[:1] == [0]:
            raise ValueError(f"First element of lengths must be an int, got {given[0]!r}")
        count = ragged[-1] if ragged else 0
        if num_row_partitions is not None:
            if not count <= num_row_partitions < len(given):
                raise ValueError(
                    f"num_row_partitions must be from {count} to {len(given) - 1}, got "
                    f"{num_row_partitions}"
                )
            count = num_row_partitions
        rows, partitions = int(given[0]), []  # type: ignore[arg-type]  # no list is the first
        for axis in range(1, count + 1):
            one = given[axis]
            if isinstance(one, whole):
                made = RowPartition.from_uniform_row_length(
                    int(one), nvals=rows * int(one), nrows=rows, dtype=dtype
                )
                rows *= int(one)
            else:
                if len(one) != rows:
                    raise ValueError(
                        f"lengths of axis {axis} must be {rows} numbers, one for each row, got "
                        f"{len(one)}"
                    )
                made = RowPartition.from_row_lengths(
                    np.asarray(one, dtypes.as_dtype(dtype).numpy), dtype=dtype
                )
                rows = int(sum(one))
            partitions.append(made)
        return cls(partitions, [rows, *given[count + 1 :]], dtype)

    @classmethod
    def from_row_partitions(
        cls, row_partitions: Sequence[RowPartition], dtype: Any = None
    ) -> DynamicRaggedShape:
        """The shape with these rows, whose flat values are scalars."""
        if not row_partitions:
            raise ValueError("row_partitions cannot be empty")
        count = row_partitions[-1].nvals()
        kind = _common(tuple(row_partitions), None) if dtype is None else dtypes.as_dtype(dtype)
        return cls(row_partitions, reshaping.reshape(casting.cast(count, kind), [1]), kind)

    @classmethod
    def from_tensor(cls, t: Any, dtype: Any = None) -> DynamicRaggedShape:
        """The shape of a tensor or a ragged tensor; None as dtype is that of its rows, or int32."""
        if not isinstance(t, RaggedTensor):
            kind = dtypes.int32 if dtype is None else dtypes.as_dtype(dtype)
            x = convert_to_tensor(t)
            return cls((), shapes.shape(x, out_type=kind), kind, static_inner_shape=x.shape)
        levels = [RowPartition._of(_of_nothing(one)) for one in t._levels()]
        kind = t.row_splits.dtype if dtype is None else dtypes.as_dtype(dtype)
        flat = t.flat_values
        sizes = shapes.shape(flat, out_type=kind)
        return cls(levels, sizes, kind, static_inner_shape=flat.shape)

    @property
    def dtype(self) -> DType:
        """int32 or int64: of its parts."""
        return self._inner.dtype

    def with_dtype(self, dtype: Any) -> DynamicRaggedShape:
        """The same shape, told in another integer type."""
        return DynamicRaggedShape(
            self._partitions, self._inner, dtype, static_inner_shape=self._known
        )

    @property
    def row_partitions(self) -> tuple[RowPartition, ...]:
        """The rows of the axes after the first, from the outermost."""
        return self._partitions

    @property
    def num_row_partitions(self) -> int:
        """How many axes are partitions of rows."""
        return len(self._partitions)

    @property
    def inner_shape(self) -> Tensor:
        """The shape of the flat values."""
        return self._inner

    @property
    def inner_rank(self) -> int | None:
        """How many axes the flat values have, if that is known."""
        return self._known.rank

    @property
    def rank(self) -> int | None:
        """How many axes there are, if that is known."""
        inner = self._known.rank
        return None if inner is None else inner + len(self._partitions)

    def is_uniform(self, axis: int) -> bool:
        """Whether the rows of an axis have one length.

        Raises:
            ValueError: there is no such axis.
        """
        rank = self.rank
        if not isinstance(axis, int):
            raise TypeError(f"axis must be an integer, got {type(axis).__name__}")
        if axis < 0 or (rank is not None and axis >= rank):
            raise IndexError(f"Expected 0 <= axis < {rank}, got {axis}")
        inside = 0 < axis <= len(self._partitions)
        return self._partitions[axis - 1].is_uniform() if inside else True

    def static_lengths(self, ragged_lengths: bool = True) -> list[Any]:
        """The size of each axis as far as it is known while tracing.

        Args:
            ragged_lengths: whether an axis of different rows gives the length of each, where they
                are known.

        Returns:
            A number or None for each axis, a tuple of numbers for different rows; `...` at the end
            for axes whose number is not known.
        """
        inner: list[Any] = [...] if self._known.rank is None else self._known.as_list()
        if not self._partitions:
            return inner
        found: list[Any] = [self._partitions[0].static_nrows]
        for one in self._partitions:
            if one.static_uniform_row_length is not None:
                found.append(one.static_uniform_row_length)
                continue
            known = known_value(one.row_lengths()) if ragged_lengths else None
            found.append(None if known is None else tuple(known.tolist()))
        return found + (inner if inner == [...] else inner[1:])

    def __getitem__(self, index: int) -> Tensor:
        """The size of an axis whose rows have one length.

        Raises:
            ValueError: they have not.
        """
        if not isinstance(index, int):
            raise TypeError(f"DynamicRaggedShape: an axis must be an int, got {index!r}")
        at = index + (self.rank or 0) if index < 0 else index
        count = len(self._partitions)
        if not self.is_uniform(at):
            raise ValueError(
                f"Index {index} is not uniform\n  Try: row_partitions, for the length of each row"
            )
        if at == 0 and count:
            return self._partitions[0].nrows()
        if 0 < at <= count:
            found = self._partitions[at - 1].uniform_row_length()
            assert found is not None  # noqa: S101 (it is uniform)
            return found
        return self._inner[at - count]

    @property
    def spec(self) -> DynamicRaggedShapeSpec:
        """Its Spec."""
        rows = tuple(one.spec for one in self._partitions)
        return DynamicRaggedShapeSpec(rows, self._known, self.dtype)

    def __repr__(self) -> str:
        told = ", ".join("..." if one is ... else str(one) for one in self.static_lengths())
        return f"<DynamicRaggedShape lengths=[{told}] num_row_partitions={self.num_row_partitions}>"


class DynamicRaggedShapeSpec(CompositeSpec):
    """What is known of a ragged shape before there is one.

    Args:
        row_partitions: of each partition what is known.
        static_inner_shape: of the shape of the flat values.
        dtype: int32 or int64.
    """

    __slots__ = ("_dtype", "_inner", "_rows")

    def __init__(self, row_partitions: Any, static_inner_shape: Any, dtype: Any) -> None:
        self._rows: tuple[RowPartitionSpec, ...] = tuple(row_partitions)
        self._inner = Shape(static_inner_shape)
        self._dtype = dtypes.as_dtype(dtype)

    @property
    def value_type(self) -> type:
        """DynamicRaggedShape."""
        return DynamicRaggedShape

    @property
    def dtype(self) -> DType:
        """int32 or int64."""
        return self._dtype

    def _serialize(self) -> tuple[Any, ...]:
        return (self._rows, self._inner, self._dtype)

    def component_specs(self) -> tuple[TensorSpec, ...]:
        """Of the row splits from the outermost, then of the inner shape."""
        rows = [part for one in self._rows for part in one.component_specs()]
        return (*rows, TensorSpec.of(Shape([self._inner.rank]), self._dtype))

    def to_components(self, value: Any) -> tuple[object, ...]:
        """The row splits, then the inner shape."""
        return (*(one.row_splits() for one in value.row_partitions), value.inner_shape)

    def from_components(self, components: Sequence[Any]) -> object:
        """The shape made of these."""
        *splits, inner = components
        if not isinstance(inner, Tensor):
            return components
        rows = [one.from_components((part,)) for one, part in zip(self._rows, splits, strict=True)]
        return DynamicRaggedShape(rows, inner, self._dtype, static_inner_shape=self._inner)  # type: ignore[arg-type]  # partitions


DynamicRaggedShape.Spec = DynamicRaggedShapeSpec  # type: ignore[attr-defined]  # TensorFlow's name


def _common(partitions: tuple[RowPartition, ...], inner: Any) -> DType:
    kinds = {one.dtype for one in partitions}
    if isinstance(inner, Tensor):
        kinds.add(inner.dtype)
    if len(kinds) > 1:
        raise ValueError(
            "DynamicRaggedShape: row_partitions and inner_shape must have one dtype, got "
            f"{', '.join(sorted(kind.name for kind in kinds))}\n  Try: dtype=tf.int64"
        )
    return kinds.pop() if kinds else dtypes.int64


def _vector(sizes: Any, kind: DType) -> Tensor:
    if isinstance(sizes, Tensor):
        return sizes
    return convert_to_tensor(np.asarray(sizes, kind.numpy))


def _static(sizes: Tensor) -> Shape:
    """What is known of the shape that a vector tells."""
    known = None if isinstance(sizes, SymbolicTensor) else np.asarray(sizes)
    if known is None:
        known = known_value(sizes)
    if known is not None:
        return Shape(known.tolist())
    rank = sizes.shape[0] if sizes.shape.rank else None
    return Shape(None) if rank is None else Shape([None] * rank)


def _of_nothing(level: RaggedTensor) -> RaggedTensor:
    """The rows of a level, whose values are left out."""
    from pinnace.ops.composites.ragged import row_partition

    count = level.values.nrows() if isinstance(level.values, RaggedTensor) else None
    if count is None:
        count = shapes.shape(level.values, out_type=dtypes.int64)[0]
    values = row_partition._nothing(count)
    return RaggedTensor(values, level.row_splits, internal=True, uniform=level._uniform)
