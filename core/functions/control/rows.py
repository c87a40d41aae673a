"""Rows of ragged and sparse tensors as plain tensors, for loops that carry and stack them.

A row of a ragged tensor is a variant that holds it. A row of a sparse tensor is its indices, its
values and its shape; indices and values are variants, since rows differ in their number. A row of
an extension type is encoded by its batch encoder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes, structure
from pinnace.framework.composite import CompositeSpec, is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.ops.array import casting, joining, reshaping, tiling
from pinnace.ops.composites.extension.batching import encoder_of
from pinnace.ops.math import reduction

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Carried", "batch_spec", "carried", "row_spec"]


class Carried:
    """How a loop carries rows of a spec: by default, as a tensor."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def parts(self) -> list[TensorSpec]:
        """The specs of the tensors that represent a row."""
        return [self.spec]

    def of_rows(self, batch: Any) -> list[Any]:
        """[n, ...]: the tensors that represent each row of a value."""
        return [batch]

    def of_row(self, row: Any) -> list[Any]:
        """The tensors of one row."""
        return [convert_to_tensor(row, self.spec.dtype)]

    def row(self, parts: Sequence[Any]) -> Any:
        """The row that they represent."""
        return parts[0]

    def batch(self, parts: Sequence[Any]) -> Any:
        """The value whose rows are represented by the parts, [n, ...] each."""
        return parts[0]


def _boxed(x: Any) -> Any:
    """A tensor or ragged tensor as a variant."""
    from pinnace.ops.composites.ragged.tensor import RaggedTensor
    from pinnace.ops.execute import execute
    from pinnace.ops.ragged import variants

    if isinstance(x, RaggedTensor):
        return x._to_variant()
    return execute(
        variants.RAGGED_TENSOR_TO_VARIANT, [], x, batched_input=False, Tsplits=dtypes.int64
    )


class _Ragged(Carried):
    def parts(self) -> list[TensorSpec]:
        return [TensorSpec.of(Shape([]), dtypes.variant)]

    def of_rows(self, batch: Any) -> list[Any]:
        return [batch._to_variant(batched_input=True)]

    def of_row(self, row: Any) -> list[Any]:
        from pinnace.ops.composites.ragged.construction import from_tensor
        from pinnace.ops.composites.ragged.tensor import RaggedTensor

        depth = self.spec.ragged_rank
        if not isinstance(row, RaggedTensor):
            row = convert_to_tensor(row, self.spec.dtype)
            if depth:
                row = from_tensor(row, ragged_rank=depth, row_splits_dtype=self._kind())
        found = row.ragged_rank if isinstance(row, RaggedTensor) else 0
        fits = row.dtype is self.spec.dtype and found == depth
        if not fits or not self.spec.shape.is_compatible_with(row.shape):
            raise ValueError(
                f"map_fn: fn must give {self.spec!r}, got {row.dtype.name}{row.shape.text} with "
                f"a ragged rank of {found}\n  Try: fn_output_signature=, the spec of its results"
            )
        return [_boxed(row)]

    def row(self, parts: Sequence[Any]) -> Any:
        return self._unboxed(parts[0], 0)

    def batch(self, parts: Sequence[Any]) -> Any:
        return self._unboxed(parts[0], 1)

    def _unboxed(self, variant: Any, more: int) -> Any:
        from pinnace.ops.composites.ragged.tensor import RaggedTensor

        depth = self.spec.ragged_rank
        found = RaggedTensor._from_variant(
            variant, self.spec.dtype, depth + more, depth, self._kind()
        )
        shape = self.spec.shape
        if shape.rank is not None:
            known = Shape([None] * more).concatenate(shape)
            if isinstance(found, RaggedTensor):
                found._set_shape(known)
            elif hasattr(found, "set_shape"):
                found.set_shape(known)
        return found

    def _kind(self) -> Any:
        return self.spec.row_splits_dtype


class _Sparse(Carried):
    def parts(self) -> list[TensorSpec]:
        rank = self.spec.shape.rank
        box = TensorSpec.of(Shape([]), dtypes.variant)
        return [box, box, TensorSpec.of(Shape([rank]), dtypes.int64)]

    def of_rows(self, batch: Any) -> list[Any]:
        from pinnace.ops.composites.ragged.tensor import RaggedTensor

        rows, inner = batch.indices[:, 0], batch.indices[:, 1:]
        count = batch.dense_shape[0]
        both = [RaggedTensor.from_value_rowids(x, rows, count) for x in (inner, batch.values)]
        shape = reshaping.expand_dims(batch.dense_shape[1:], 0)
        shapes = tiling.tile(shape, joining.stack([count, np.int64(1)]))
        return [*[x._to_variant(batched_input=True) for x in both], shapes]

    def of_row(self, row: Any) -> list[Any]:
        if not is_composite(row) or row.dtype is not self.spec.dtype:
            raise ValueError(f"map_fn: fn must give {self.spec!r}, got {row!r}")
        return [_boxed(row.indices), _boxed(row.values), row.dense_shape]

    def row(self, parts: Sequence[Any]) -> Any:
        from pinnace.ops.composites.ragged.tensor import RaggedTensor

        indices = RaggedTensor._from_variant(parts[0], dtypes.int64, 0, 0)
        values = RaggedTensor._from_variant(parts[1], self.spec.dtype, 0, 0)
        return self._made(indices, values, parts[2], self.spec.shape)

    def batch(self, parts: Sequence[Any]) -> Any:
        from pinnace.ops.composites.ragged.tensor import RaggedTensor

        indices = RaggedTensor._from_variant(parts[0], dtypes.int64, 1, 0)
        values = RaggedTensor._from_variant(parts[1], self.spec.dtype, 1, 0)
        rows = reshaping.expand_dims(indices.value_rowids(), 1)
        count = casting.cast(reshaping.reshape(indices.nrows(), [1]), dtypes.int64)
        # The dense shape of a batch is that of its largest row.
        shape = joining.concat([count, reduction.reduce_max(parts[2], 0)], 0)
        places = joining.concat([rows, indices.values], 1)
        return self._made(places, values.values, shape, Shape([None]).concatenate(self.spec.shape))

    def _made(self, indices: Any, values: Any, shape: Any, known: Shape) -> Any:
        from pinnace.ops.composites.sparse.tensor import SparseTensor

        for x, size in ((indices, [None, known.rank]), (values, [None])):
            if hasattr(x, "set_shape"):
                x.set_shape(size)
        return SparseTensor(indices, values, shape)


class _Encoded(Carried):
    """Rows of an extension type, carried as the tensors of its encoder."""

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self._encoder = encoder_of(spec)
        self._form = self._encoder.encoding_specs(spec)
        self._how = [carried(one) for one in structure.flatten(self._form)]

    def parts(self) -> list[TensorSpec]:
        return [part for one in self._how for part in one.parts()]

    def of_rows(self, batch: Any) -> list[Any]:
        encoded = structure.flatten(self._encoder.encode(batch.spec, batch, 1))
        return [x for one, y in zip(self._how, encoded, strict=True) for x in one.of_rows(y)]

    def of_row(self, row: Any) -> list[Any]:
        if not is_composite(row) or not self.spec.is_compatible_with(row):
            raise ValueError(f"map_fn: fn must give {self.spec!r}, got {row!r}")
        encoded = structure.flatten(self._encoder.encode(row.spec, row))
        return [x for one, y in zip(self._how, encoded, strict=True) for x in one.of_row(y)]

    def row(self, parts: Sequence[Any]) -> Any:
        return self._encoder.decode(self.spec, self._put(parts, "row"))

    def batch(self, parts: Sequence[Any]) -> Any:
        spec = self._encoder.batch(self.spec, parts[0].shape[0] if parts[0].shape.rank else None)
        return self._encoder.decode(spec, self._put(parts, "batch"))

    def _put(self, parts: Sequence[Any], how: str) -> Any:
        rest = iter(parts)
        leaves = [getattr(one, how)([next(rest) for _ in one.parts()]) for one in self._how]
        return structure.pack_sequence_as(self._form, leaves)


def carried(spec: Any) -> Carried:
    """The representation of rows of a spec in a loop.

    Raises:
        TypeError: rows of this spec cannot be carried.
    """
    if isinstance(spec, TensorSpec):
        return Carried(spec)
    if encoder_of(spec) is not None:
        return _Encoded(spec)
    kind = {"RaggedTensorSpec": _Ragged, "SparseTensorSpec": _Sparse}.get(type(spec).__name__)
    if kind is None:
        raise TypeError(
            f"map_fn: rows must be tensors, ragged or sparse tensors, or of a "
            f"BatchableExtensionType, got {spec!r}"
        )
    return kind(spec)


def row_spec(value: Any) -> Any:
    """The spec of a row of a tensor, ragged or sparse tensor."""
    if not is_composite(value):
        shape = value.shape[1:] if value.shape.rank is not None else Shape(None)
        return TensorSpec.of(shape, value.dtype)
    return _without_axis(value.spec)


def _without_axis(spec: CompositeSpec) -> Any:
    encoder = encoder_of(spec)
    if encoder is not None:
        return encoder.unbatch(spec)
    if not hasattr(spec, "shape"):
        raise TypeError(
            f"map_fn: elems must be tensors, ragged or sparse tensors, or of a "
            f"BatchableExtensionType, got {spec!r}"
        )
    shape, dtype, *rest = spec._serialize()
    if shape.rank == 0:
        raise ValueError(f"map_fn: elems must have at least one axis, got {spec!r}")
    inner = shape[1:] if shape.rank is not None else Shape(None)
    if rest:
        rest[0] -= 1
    return spec._deserialize((inner, dtype, *rest))


def batch_spec(spec: Any) -> Any:
    """The spec of a value whose rows have this spec."""
    encoder = encoder_of(spec)
    if encoder is not None:
        return encoder.batch(spec, None)
    outer = Shape([None]).concatenate(spec.shape) if spec.shape.rank is not None else Shape(None)
    if isinstance(spec, TensorSpec):
        return TensorSpec.of(outer, spec.dtype)
    _, dtype, *rest = spec._serialize()
    if rest:
        rest[0] += 1
    return spec._deserialize((outer, dtype, *rest))
