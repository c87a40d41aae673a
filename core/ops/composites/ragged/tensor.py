"""RaggedTensor: rows of different length, as flat values and where each row ends."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.composite import CompositeTensor
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Operands, SymbolicTensor, Tensor
from pinnace.ops.array import casting, joining, reshaping, shapes, sorting
from pinnace.ops.composites.operators import TensorOperators
from pinnace.ops.execute import execute
from pinnace.ops.math import arithmetic, cumulation, ranges, reduction
from pinnace.ops.ragged import conversion

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.ops.composites.ragged.spec import RaggedTensorSpec
    from pinnace.ops.composites.sparse.tensor import SparseTensor

__all__ = ["RaggedTensor"]


class RaggedTensor(TensorOperators, CompositeTensor):
    """A tensor with axes whose rows may differ in length.

    The rows of an axis stand one after the other in `values`, and `row_splits` says where each
    begins and ends: row i is `values[row_splits[i]:row_splits[i + 1]]`. `values` may be ragged
    again. Made by `ragged.constant`, the `from_…` methods, and many ops.

    Example:
        >>> RaggedTensor.from_row_lengths([3, 1, 4, 1, 5], [2, 0, 3])
        <tf.RaggedTensor [[3, 1], [], [4, 1, 5]]>
    """

    _takes_ops = "ragged"

    def __init__(
        self, values: Any, row_splits: Any, internal: bool = False, uniform: Any = None
    ) -> None:
        if not internal:
            message = (
                "RaggedTensor is made by a factory method\n"
                "  Try: RaggedTensor.from_row_splits(values, row_splits), or ragged.constant"
            )
            raise ValueError(message)
        self._values = values
        self._row_splits = row_splits
        self._uniform = uniform

    # Making one.

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
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
        values = _values(values)
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
    ) -> RaggedTensor:
        """The rows have these lengths; they add up to the number of values."""
        del name
        values = _values(values)
        lengths = _partition(row_lengths, "row_lengths", values)
        made = cls(values, splits_from_lengths(lengths), internal=True)
        if validate:
            made._check("row_lengths")
        return made

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Each row goes from its start to that of the next; the first starts at 0."""
        del name
        values = _values(values)
        starts = _partition(row_starts, "row_starts", values)
        end = reshaping.reshape(casting.cast(_nrows_of(values), starts.dtype), [1])
        made = cls(values, joining.concat([starts, end], 0), internal=True)
        if validate:
            made._check("row_starts")
        return made

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Each row goes from the limit of the one before to its own."""
        del name
        values = _values(values)
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
    ) -> RaggedTensor:
        """Value i is in row `value_rowids[i]`; these never decrease.

        Args:
            values: [n, ...].
            value_rowids: [n], int32 or int64.
            nrows: how many rows there are; by default one more than the last of value_rowids.
            name: accepted for TensorFlow's sake.
            validate: whether to check them.
        """
        del name
        values = _values(values)
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
    ) -> RaggedTensor:
        """Every row has the same length.

        Args:
            values: [rows * length, ...].
            uniform_row_length: integer scalar.
            nrows: how many rows; needed if the length is 0.
            validate: whether to check that the values fill the rows.
            name: accepted for TensorFlow's sake.
        """
        del name
        values = _values(values)
        kind = values.row_splits.dtype if isinstance(values, RaggedTensor) else dtypes.int64
        length = casting.cast(convert_to_tensor(uniform_row_length), kind)
        total = casting.cast(_nrows_of(values), kind)
        if nrows is not None:
            count = casting.cast(convert_to_tensor(nrows), kind)
        elif _known(length) == 0:
            count = casting.cast(0, kind)
        else:
            # At least 1: a length of 0 makes no rows.
            count = arithmetic.floordiv(total, arithmetic.maximum(length, casting.cast(1, kind)))
        if validate and _is_known(total, length, count):
            size, rows, n = int(length), int(count), int(total)
            if size < 0 or size * rows != n:
                raise InvalidArgumentError(
                    f"RaggedTensor.from_uniform_row_length: {rows} rows of length {size} must "
                    f"have {size * rows} values, got {n}"
                )
        one = casting.cast(1, kind)
        splits = arithmetic.multiply(ranges.range(arithmetic.add(count, one)), length)
        fixed = _known(length)
        return cls(values, splits, internal=True, uniform=length if fixed is None else fixed)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """The tensor with these row splits, from the outermost; `flat_values` if there are none."""
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
        """The tensor with these row lengths, from the outermost."""
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
        """The tensor with these row numbers of values, from the outermost."""
        del name
        ids = list(nested_value_rowids)
        rows = [None] * len(ids) if nested_nrows is None else list(nested_nrows)
        if len(rows) != len(ids):
            raise ValueError(
                "RaggedTensor.from_nested_value_rowids: nested_nrows must be as many as "
                f"nested_value_rowids ({len(ids)}), got {len(rows)}"
            )
        result = flat_values
        for rowids, count in zip(reversed(ids), reversed(rows), strict=True):
            result = cls.from_value_rowids(result, rowids, count, validate=validate)
        return result

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
        """The rows of a tensor; what is padding is left out. See `ragged.construction`."""
        from pinnace.ops.composites.ragged.construction import from_tensor

        return from_tensor(tensor, lengths, padding, ragged_rank, name, row_splits_dtype)

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = dtypes.int64
    ) -> RaggedTensor:
        """The rows of a sparse matrix whose values begin at column 0 without gaps."""
        from pinnace.ops.composites.ragged.construction import from_sparse

        return from_sparse(st_input, name, row_splits_dtype)

    def _check(self, what: str) -> None:
        """InvalidArgumentError unless the row splits fit the values, as far as both are known."""
        splits = self._row_splits
        count = _known(_nrows_of(self._values))
        if isinstance(splits, SymbolicTensor):
            return
        array = np.asarray(splits._array)
        if array[0] != 0 or (array[1:] < array[:-1]).any():
            raise InvalidArgumentError(
                f"RaggedTensor.from_{what}: rows must begin at 0 and have no negative length, got "
                f"row splits {array.tolist()}"
            )
        if count is not None and array[-1] != count:
            raise InvalidArgumentError(
                f"RaggedTensor.from_{what}: the rows must have as many values as there are, "
                f"{count}, got {array[-1]}"
            )

    # What it is.

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> Shape:
        """The sizes of the axes; None for a ragged one."""
        splits = self._row_splits.shape
        count = splits[0] if splits.rank else None
        inner = self._values.shape
        uniform = self._uniform if isinstance(self._uniform, int) else None
        outer = Shape([None if count is None else count - 1, uniform])
        return Shape(None) if inner.rank is None else outer.concatenate(inner[1:])

    def get_shape(self) -> Shape:
        """The shape."""
        return self.shape

    @property
    def ragged_rank(self) -> int:
        """How many axes are stored as row splits."""
        inner = self._values
        return 1 + (inner.ragged_rank if isinstance(inner, RaggedTensor) else 0)

    @property
    def values(self) -> Any:
        """The rows one after the other: a tensor, or a ragged tensor of one ragged axis less."""
        return self._values

    @property
    def row_splits(self) -> Tensor:
        """[rows + 1]: where each row begins; the last is the number of values."""
        return self._row_splits  # type: ignore[no-any-return]

    @property
    def uniform_row_length(self) -> Tensor | None:
        """The length of every row, if it was made with one."""
        if self._uniform is None:
            return None
        if isinstance(self._uniform, int):
            return convert_to_tensor(self._uniform, self._row_splits.dtype)
        return self._uniform  # type: ignore[no-any-return]

    @property
    def flat_values(self) -> Tensor:
        """The values beneath all ragged axes."""
        inner = self._values
        while isinstance(inner, RaggedTensor):
            inner = inner._values
        return inner  # type: ignore[no-any-return]

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The row splits of all ragged axes, from the outermost."""
        return tuple(level._row_splits for level in self._levels())

    def _levels(self) -> list[RaggedTensor]:
        found = [self]
        while isinstance(found[-1]._values, RaggedTensor):
            found.append(found[-1]._values)
        return found

    @property
    def spec(self) -> RaggedTensorSpec:
        """What is known of it."""
        from pinnace.ops.composites.ragged.spec import RaggedTensorSpec

        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """How many rows there are, an integer scalar."""
        del name
        splits = self._row_splits
        kind = splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        return casting.cast(
            arithmetic.subtract(shapes.size(splits, kind), casting.cast(1, kind)), kind
        )

    def row_starts(self, name: str | None = None) -> Tensor:
        """[rows]: where each row begins among the values."""
        del name
        return self._row_splits[:-1]  # type: ignore[no-any-return]

    def row_limits(self, name: str | None = None) -> Tensor:
        """[rows]: where each row ends among the values."""
        del name
        return self._row_splits[1:]  # type: ignore[no-any-return]

    def row_lengths(self, axis: Any = 1, name: str | None = None) -> Any:
        """The lengths of the rows of an axis.

        Args:
            axis: 1 gives [rows]; a deeper one a ragged tensor of lengths; 0 the number of rows.
            name: accepted for TensorFlow's sake.
        """
        del name
        rank = self.shape.rank
        at = _axis(axis, rank, "row_lengths")
        if at == 0:
            return self.nrows()
        if at == 1:
            return arithmetic.subtract(self._row_splits[1:], self._row_splits[:-1])
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.row_lengths(at - 1))
        sizes = shapes.shape(self._values, out_type=self._row_splits.dtype)
        from pinnace.ops.array import constants

        return self.with_values(constants.fill(sizes[: at - 1], sizes[at - 1]))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Any, ...]:
        """The row lengths of all ragged axes, from the outermost."""
        del name
        return tuple(level.row_lengths() for level in self._levels())

    def value_rowids(self, name: str | None = None) -> Tensor:
        """[n]: the row that each value is in."""
        del name
        count = casting.cast(_nrows_of(self._values), self._row_splits.dtype)
        numbers = ranges.range(count)
        kind = self._row_splits.dtype
        return sorting.searchsorted(self._row_splits[1:], numbers, side="right", out_type=kind)

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The row numbers of all ragged axes, from the outermost."""
        del name
        return tuple(level.value_rowids() for level in self._levels())

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: Any = None
    ) -> Tensor:
        """The sizes of the smallest tensor that holds every row.

        Args:
            axis: an axis or several, of which to give the size; None gives all.
            name: accepted for TensorFlow's sake.
            out_type: dtype of the sizes, by default that of the row splits.
        """
        del name
        kind = self._row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        sizes = [reshaping.reshape(self.nrows(kind), [1])]
        zero = np.zeros(1, self._row_splits.dtype.numpy)
        for level in self._levels():
            longest = reduction.reduce_max(joining.concat([zero, level.row_lengths()], 0))
            sizes.append(reshaping.reshape(casting.cast(longest, kind), [1]))
        sizes.append(shapes.shape(self.flat_values, out_type=kind)[1:])
        found = joining.concat(sizes, 0)
        if axis is None:
            return found
        from pinnace.ops.array import gathering

        rank = self.shape.rank
        wanted = np.asarray(axis)
        if rank is not None:
            wanted = np.where(wanted < 0, wanted + rank, wanted)
        return gathering.gather(found, wanted)

    def gradient_part(self) -> Tensor:
        """The flat values."""
        return self.flat_values

    def with_gradient_part(self, gradient: Any) -> RaggedTensor:
        """The gradient of each value in its row."""
        return self.with_flat_values(convert_to_tensor(gradient))

    # Others like it.

    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other values.

        Args:
            new_values: [n, ...], tensor or ragged tensor.

        Raises:
            InvalidArgumentError: there are more or fewer values.
        """
        values = _values(new_values)
        splits = self._row_splits
        if isinstance(values, RaggedTensor) and values.row_splits.dtype is not splits.dtype:
            splits = casting.cast(splits, dtypes.int64)
            values = values.with_row_splits_dtype(dtypes.int64)
        old, new = self._values.shape, values.shape
        if old.rank and new.rank and None not in (old[0], new[0]) and old[0] != new[0]:
            raise ValueError(
                f"RaggedTensor.with_values: there must be {old[0]} values, got {new[0]}"
            )
        if new.rank == 0:
            raise ValueError("RaggedTensor.with_values: values must have an axis, got a scalar")
        return RaggedTensor(values, splits, internal=True, uniform=self._uniform)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other flat values."""
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """The same tensor with row splits of int32 or int64."""
        kind = dtypes.as_dtype(dtype)
        if kind not in dtypes.INDEX:
            raise ValueError(f"RaggedTensor: row splits must be int32 or int64, got {kind.name}")
        if kind is self._row_splits.dtype:
            return self
        inner = self._values
        if isinstance(inner, RaggedTensor):
            inner = inner.with_row_splits_dtype(kind)
        uniform = self._uniform
        if isinstance(uniform, Tensor):
            uniform = casting.cast(uniform, kind)
        return RaggedTensor(
            inner, casting.cast(self._row_splits, kind), internal=True, uniform=uniform
        )

    def merge_dims(self, outer_axis: Any, inner_axis: Any) -> Any:
        """The axes from outer_axis to inner_axis as one, of all their values."""
        from pinnace.ops.composites.ragged.shaping import merge_dims

        return merge_dims(self, outer_axis, inner_axis)

    def to_tensor(
        self, default_value: Any = None, name: str | None = None, shape: Any = None
    ) -> Tensor:
        """A tensor with short rows filled up.

        Args:
            default_value: what to fill with; 0 or an empty string if None.
            name: name of the node while tracing.
            shape: sizes to fill or cut to; None in it is as long as the longest row.
        """
        sizes: Any = np.int64(-1) if self._row_splits.dtype is dtypes.int64 else np.int32(-1)
        if isinstance(shape, Operands):
            sizes = convert_to_tensor(shape)
        elif shape is not None:
            wanted = Shape(shape)
            if wanted.rank is not None:
                sizes = np.array(
                    [-1 if n is None else n for n in wanted], self._row_splits.dtype.numpy
                )
        flat = self.flat_values
        default = default_value
        if default is None:
            default = b"" if flat.dtype is dtypes.string else np.zeros((), flat.dtype.numpy)
        filled = execute(
            conversion.RAGGED_TENSOR_TO_TENSOR,
            sizes,
            flat,
            convert_to_tensor(default, flat.dtype),
            list(self.nested_row_splits),
            row_partition_types=("ROW_SPLITS",) * self.ragged_rank,
            name=name,
        )
        if shape is None and isinstance(filled, SymbolicTensor) and self.shape.rank is not None:
            filled.set_shape(self.shape)
        return filled  # type: ignore[no-any-return]

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """The sparse tensor with the same values at the same places."""
        from pinnace.ops.composites.sparse.tensor import SparseTensor

        splits = list(self.nested_row_splits)
        parts = execute(conversion.RAGGED_TENSOR_TO_SPARSE, splits, self.flat_values, name=name)
        return SparseTensor(*parts)

    def _to_variant(self, batched_input: bool = False, name: str | None = None) -> Tensor:
        from pinnace.ops.composites.ragged.construction import to_variant

        return to_variant(self, batched_input, name)

    @classmethod
    def _from_variant(
        cls,
        variant: Any,
        dtype: Any,
        output_ragged_rank: int,
        input_ragged_rank: int | None = None,
        row_splits_dtype: Any = dtypes.int64,
        name: str | None = None,
    ) -> Any:
        from pinnace.ops.composites.ragged.construction import from_variant

        return from_variant(
            variant, dtype, output_ragged_rank, input_ragged_rank, row_splits_dtype, name
        )

    # Python's view of it.

    def numpy(self) -> Any:
        """An array of rows: an object array of arrays unless all have one length."""
        if not self._is_eager():
            raise ValueError("RaggedTensor.numpy: a symbolic ragged tensor has no value yet")
        values = self._values.numpy()
        bounds = np.asarray(self._row_splits._array).tolist()
        rows = [values[a:b] for a, b in itertools.pairwise(bounds)]
        if not rows:
            return np.empty((0, 0), values.dtype)
        if any(len(row) != len(rows[0]) for row in rows):
            out = np.empty(len(rows), object)
            for at, row in enumerate(rows):
                out[at] = row
            return out
        return np.array(rows)

    def to_list(self) -> list[Any]:
        """The values as nested lists."""
        if not self._is_eager():
            raise ValueError("RaggedTensor.to_list: a symbolic ragged tensor has no value yet")
        inner = self._values
        items = inner.to_list() if isinstance(inner, RaggedTensor) else inner._array.tolist()
        bounds = np.asarray(self._row_splits._array).tolist()
        return [items[a:b] for a, b in itertools.pairwise(bounds)]

    def _is_eager(self) -> bool:
        return not any(isinstance(part, SymbolicTensor) for part in self._components())

    def __getitem__(self, key: Any) -> Any:
        from pinnace.ops.composites.ragged.indexing import getitem

        return getitem(self, key)

    def __iter__(self) -> Any:
        count = _known(self.nrows())
        if count is None:
            raise TypeError(
                "a symbolic ragged tensor cannot be iterated over: its rows are not known yet\n"
                "  Try: map_fn"
            )
        return (self[i] for i in range(count))

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> NoReturn:
        del dtype, name
        raise ValueError(
            f"a RaggedTensor cannot become a tensor, its rows may differ in length: {self!r}\n"
            "  Try: x.to_tensor(), or ragged.map_flat_values(op, x)"
        )

    def __bool__(self) -> NoReturn:
        raise ValueError("the truth of a RaggedTensor is ambiguous: use reduce_all or reduce_any")

    def __repr__(self) -> str:
        if self._is_eager():
            return f"<tf.RaggedTensor {_text(self.to_list())}>"
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"

    def _set_shape(self, shape: Any) -> None:
        """Add what is known of the shape."""
        wanted = Shape(shape)
        if wanted.rank is None:
            return
        for depth, level in enumerate(self._levels()):
            size = wanted[depth + 1] if wanted.rank > depth + 1 else None
            if size is not None and level._uniform is None:
                level._uniform = size
        if isinstance(self._row_splits, SymbolicTensor) and wanted[0] is not None:
            self._row_splits.set_shape([wanted[0] + 1])
        flat = self.flat_values
        if isinstance(flat, SymbolicTensor) and wanted.rank > self.ragged_rank + 1:
            flat.set_shape([None, *wanted[self.ragged_rank + 1 :]])

    def _shape_invariant_to_type_spec(self, shape: Any) -> RaggedTensorSpec:
        from pinnace.ops.composites.ragged.spec import RaggedTensorSpec

        return RaggedTensorSpec(shape, self.dtype, self.ragged_rank, self._row_splits.dtype)


def splits_from_lengths(lengths: Tensor) -> Tensor:
    """The row splits of rows of these lengths."""
    zero = np.zeros(1, lengths.dtype.numpy)
    return joining.concat([zero, cumulation.cumsum(lengths)], 0)


def splits_from_rowids(rowids: Tensor, nrows: Any, validate: bool) -> Tensor:
    """The row splits of values with these row numbers."""
    kind = rowids.dtype
    if nrows is None:
        # One more than the last; none for no values.
        minus = np.full(1, -1, kind.numpy)
        last = joining.concat([minus, rowids], 0)[-1]
        count = arithmetic.add(last, casting.cast(1, kind))
    else:
        count = casting.cast(convert_to_tensor(nrows), kind)
    if validate and _is_known(rowids, count):
        ids, rows = np.asarray(rowids._array), int(count)
        if len(ids) and (ids[0] < 0 or (ids[1:] < ids[:-1]).any() or ids[-1] >= rows):
            raise InvalidArgumentError(
                "RaggedTensor.from_value_rowids: value_rowids must be sorted and in "
                f"[0, {rows}), got {ids.tolist()}"
            )
    numbers = ranges.range(arithmetic.add(count, casting.cast(1, kind)))
    return sorting.searchsorted(rowids, numbers, side="left", out_type=kind)


def _values(values: Any) -> Any:
    if isinstance(values, CompositeTensor) and not hasattr(values, "__tf_tensor__"):
        return values
    return values if isinstance(values, RaggedTensor) else convert_to_tensor(values)


def _partition(given: Any, name: str, values: Any) -> Tensor:
    """A partitioning vector, of the dtype of the row splits below."""
    hint = values.row_splits.dtype if isinstance(values, RaggedTensor) else dtypes.int64
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
    if isinstance(values, RaggedTensor) and found.dtype is not hint:
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


def _nrows_of(values: Any) -> Any:
    """How many rows values have, an integer tensor."""
    if isinstance(values, RaggedTensor):
        return values.nrows()
    if values.shape.rank == 0:
        raise ValueError("RaggedTensor: values must have at least one axis, got a scalar")
    if values.shape.rank and values.shape[0] is not None:
        return convert_to_tensor(np.int64(values.shape[0]))
    return shapes.shape(values, out_type=dtypes.int64)[0]


def _known(value: Any) -> int | None:
    """An integer scalar as int, None while it is symbolic."""
    if isinstance(value, int):
        return value
    return None if isinstance(value, SymbolicTensor) else int(value)


def _is_known(*tensors: Any) -> bool:
    return not any(isinstance(x, SymbolicTensor) for x in tensors)


def _axis(axis: Any, rank: int | None, who: str) -> int:
    """A whole axis number, counted from the front."""
    at = int(axis)
    if rank is None:
        if at < 0:
            raise ValueError(f"{who}: axis must not be negative where the rank is unknown")
        return at
    if not -rank <= at < rank:
        raise ValueError(f"{who}: axis must be in [{-rank}, {rank}), got {at}")
    return at % rank


def _text(rows: Any, most: int = 20) -> str:
    """Nested lists as text, the middle of long ones left out."""
    if not isinstance(rows, list):
        return repr(rows)
    if len(rows) <= most:
        return f"[{', '.join(_text(row) for row in rows)}]"
    half = most // 2
    shown = [*(_text(row) for row in rows[:half]), "...", *(_text(row) for row in rows[-half:])]
    return f"[{', '.join(shown)}]"
