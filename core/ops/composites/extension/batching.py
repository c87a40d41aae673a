"""Batching and unbatching of extension type values."""

from __future__ import annotations

from typing import Any

from pinnace.framework import structure
from pinnace.framework.composite import CompositeSpec
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec, TypeSpec

__all__ = ["ExtensionTypeBatchEncoder", "batched", "encoder_of", "unbatched"]


class ExtensionTypeBatchEncoder:
    """Defines the tensors that represent a value in batches.

    By default, each field of a batch is the batch of that field. A class with another form of
    batches overrides all methods, and has an instance as `__batch_encoder__`.
    """

    def batch(self, spec: Any, batch_size: int | None) -> Any:
        """The spec of batches of values.

        Args:
            spec: spec of one value.
            batch_size: how many values, None if that is not known.
        """
        return _with_fields(spec, lambda field: batched(field, batch_size))

    def unbatch(self, spec: Any) -> Any:
        """The spec of one value.

        Args:
            spec: spec of batches.
        """
        return _with_fields(spec, unbatched)

    def encode(self, spec: Any, value: Any, minimum_rank: int = 0) -> Any:
        """The tensors of a value: stacked, they represent a batch.

        Args:
            spec: spec of the value.
            value: a value, or a batch of them.
            minimum_rank: how often the tensors must be taken apart into rows.
        """
        del minimum_rank
        return spec._to_components(value)

    def decode(self, spec: Any, encoded_value: Any) -> Any:
        """The value of these tensors; the inverse of `encode`.

        Args:
            spec: spec of the value: `batch` of the spec of the values whose tensors were stacked.
            encoded_value: the result of `encode`, stacked, unstacked or joined.
        """
        return spec._from_components(encoded_value)

    def encoding_specs(self, spec: Any) -> Any:
        """The specs of the results of `encode`.

        Args:
            spec: spec of the value.
        """
        return spec._component_specs


def encoder_of(spec: Any) -> Any:
    """The batch encoder of a spec; None if its type is not batchable."""
    return getattr(type(spec), "__batch_encoder__", None)


def batched(field: Any, size: int | None) -> Any:
    """A field of a batch: specs and shapes get one more axis, other values are unchanged.

    Raises:
        TypeError: a spec whose values have no batches.
    """
    if isinstance(field, Shape):
        return Shape([size]).concatenate(field)
    if not isinstance(field, TypeSpec):
        return field
    if isinstance(field, TensorSpec):
        return TensorSpec.of(Shape([size]).concatenate(field.shape), field.dtype)
    encoder = encoder_of(field)
    if encoder is not None:
        return encoder.batch(field, size)
    return _with_axis(field, lambda shape: Shape([size]).concatenate(shape), 1)


def unbatched(field: Any) -> Any:
    """A field of a row of a batch: specs and shapes without their first axis.

    Raises:
        TypeError: a spec whose values have no rows.
        ValueError: a scalar.
    """
    if isinstance(field, Shape):
        return _without_first(field)
    if not isinstance(field, TypeSpec):
        return field
    if isinstance(field, TensorSpec):
        return TensorSpec.of(_without_first(field.shape), field.dtype)
    encoder = encoder_of(field)
    return encoder.unbatch(field) if encoder is not None else _with_axis(field, _without_first, -1)


def _without_first(shape: Shape) -> Shape:
    if shape.rank == 0:
        raise ValueError("a scalar has no rows: every tensor of a batch must have a first axis")
    return shape[1:] if shape.rank is not None else Shape(None)


def _with_fields(spec: Any, change: Any) -> Any:
    """The spec with each field changed."""
    return spec._deserialize(
        tuple([(name, structure.map_structure(change, part)) for name, part in spec._serialize()])
    )


def _with_axis(spec: Any, change: Any, more: int) -> Any:
    """The spec of ragged or sparse tensors with an axis added or removed."""
    state = spec._serialize() if isinstance(spec, CompositeSpec) else ()
    if type(spec).__name__ not in {"RaggedTensorSpec", "SparseTensorSpec"}:
        raise TypeError(
            f"{spec!r} has no batches\n  Try: BatchableExtensionType as the base of its values"
        )
    shape, dtype, *rest = state
    if rest:
        rest[0] = max(0, rest[0] + more)
    return spec._deserialize((change(shape), dtype, *rest))
