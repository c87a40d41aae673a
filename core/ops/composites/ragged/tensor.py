"""RaggedTensor: rows of different lengths, as flat values and row splits."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Operands, SymbolicTensor, Tensor
from pinnace.ops.array import casting, joining, reshaping, shapes, sorting
from pinnace.ops.composites.operators import TensorOperators
from pinnace.ops.composites.ragged import encoding
from pinnace.ops.composites.ragged.partitions import (
    RowPartitioned,
    known_integer,
    nrows_of,
    values_of,
)
from pinnace.ops.execute import execute
from pinnace.ops.math import arithmetic, ranges, reduction
from pinnace.ops.ragged import conversion

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.ops.composites.ragged.spec import RaggedTensorSpec
    from pinnace.ops.composites.sparse.tensor import SparseTensor

__all__ = ["RaggedTensor"]


class RaggedTensor(TensorOperators, RowPartitioned):
    """A tensor with axes whose rows may differ in length.

    The rows of an axis are consecutive in `values`, and `row_splits` has their bounds: row i is
    `values[row_splits[i]:row_splits[i + 1]]`. `values` may be ragged itself. Created by
    `ragged.constant`, the `from_…` methods, and many ops.

    Example:
        >>> RaggedTensor.from_row_lengths([3, 1, 4, 1, 5], [2, 0, 3])
        <tf.RaggedTensor [[3, 1], [], [4, 1, 5]]>
    """

    _takes_ops = "ragged"

    # Properties.

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> Shape:
        """The sizes of the axes; None for ragged ones."""
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
        """The number of axes stored as row splits."""
        inner = self._values
        return 1 + (inner.ragged_rank if isinstance(inner, RaggedTensor) else 0)

    @property
    def values(self) -> Any:
        """The concatenated rows: a tensor, or a ragged tensor with one ragged axis fewer."""
        return self._values

    @property
    def row_splits(self) -> Tensor:
        """[rows + 1]: the start of each row, and the number of values."""
        return self._row_splits

    @property
    def uniform_row_length(self) -> Tensor | None:
        """The common row length, if the tensor was created with one."""
        if self._uniform is None:
            return None
        if isinstance(self._uniform, int):
            return convert_to_tensor(self._uniform, self._row_splits.dtype)
        return self._uniform

    @property
    def flat_values(self) -> Tensor:
        """The values beneath all ragged axes."""
        inner = self._values
        while isinstance(inner, RaggedTensor):
            inner = inner._values
        return inner  # type: ignore[no-any-return]

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The row splits of all ragged axes, outermost first."""
        return tuple(level._row_splits for level in self._levels())

    def _levels(self) -> list[RaggedTensor]:
        found = [self]
        while isinstance(found[-1]._values, RaggedTensor):
            found.append(found[-1]._values)
        return found

    @property
    def spec(self) -> RaggedTensorSpec:
        """Its `RaggedTensorSpec`."""
        return self._spec_of_shape(self.shape)

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """The number of rows, an integer scalar."""
        del name
        splits = self._row_splits
        kind = splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        return casting.cast(
            arithmetic.subtract(shapes.size(splits, kind), casting.cast(1, kind)), kind
        )

    def row_starts(self, name: str | None = None) -> Tensor:
        """[rows]: the start of each row in the values."""
        del name
        return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """[rows]: the end of each row in the values."""
        del name
        return self._row_splits[1:]

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
        """The row lengths of all ragged axes, outermost first."""
        del name
        return tuple(level.row_lengths() for level in self._levels())

    def value_rowids(self, name: str | None = None) -> Tensor:
        """[n]: the row id of each value."""
        del name
        count = casting.cast(nrows_of(self._values), self._row_splits.dtype)
        numbers = ranges.range(count)
        kind = self._row_splits.dtype
        return sorting.searchsorted(self._row_splits[1:], numbers, side="right", out_type=kind)

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The row ids of all ragged axes, outermost first."""
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
        """The gradient with respect to each value, in its row."""
        return self.with_flat_values(convert_to_tensor(gradient))

    # Tensors with the same rows.

    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other values.

        Args:
            new_values: [n, ...], tensor or ragged tensor.

        Raises:
            InvalidArgumentError: the number of values differs.
        """
        values = values_of(new_values)
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
        """The same tensor with int32 or int64 row splits."""
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

    if TYPE_CHECKING:  # `methods` binds them

        def __getitem__(self, key: Any) -> Any: ...
        def merge_dims(self, outer_axis: Any, inner_axis: Any) -> Any:
            """The tensor with the axes from outer_axis to inner_axis merged."""

        def _spec_of_shape(self, shape: Any) -> RaggedTensorSpec: ...

    def to_tensor(
        self, default_value: Any = None, name: str | None = None, shape: Any = None
    ) -> Tensor:
        """A tensor with short rows filled up.

        Args:
            default_value: the fill value; 0 or an empty string if None.
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
        """The sparse tensor with the same values at the same indices."""
        from pinnace.ops.composites.sparse.tensor import SparseTensor

        splits = list(self.nested_row_splits)
        parts = execute(conversion.RAGGED_TENSOR_TO_SPARSE, splits, self.flat_values, name=name)
        return SparseTensor(*parts)

    def _to_variant(self, batched_input: bool = False, name: str | None = None) -> Tensor:
        return encoding.to_variant(self, batched_input, name)

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
        splits, values = encoding.from_variant(
            variant, dtype, output_ragged_rank, input_ragged_rank, row_splits_dtype, name
        )
        return cls.from_nested_row_splits(values, splits, validate=False)

    # Conversion to Python.

    def numpy(self) -> Any:
        """An array of rows; an object array unless all rows have one length."""
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

    def __iter__(self) -> Any:
        count = known_integer(self.nrows())
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
            return f"<tf.RaggedTensor {_text(self.numpy())}>"
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"

    def _set_shape(self, shape: Any) -> None:
        """Merge static shape information."""
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
        return self._spec_of_shape(shape)


def _axis(axis: Any, rank: int | None, who: str) -> int:
    """An axis counted from the front."""
    at = int(axis)
    if rank is None:
        if at < 0:
            raise ValueError(f"{who}: axis must not be negative where the rank is unknown")
        return at
    if not -rank <= at < rank:
        raise ValueError(f"{who}: axis must be in [{-rank}, {rank}), got {at}")
    return at % rank


def _text(x: Any) -> str:
    """A scalar, or an array of rows in NumPy's text layout."""
    if not isinstance(x, np.ndarray):
        return str(x)
    if not x.size:
        return repr(x.tolist())
    return np.array2string(x, separator=", ", formatter={"all": _text})
