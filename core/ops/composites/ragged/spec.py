"""RaggedTensorSpec: the static type of a ragged tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.composite import CompositeSpec, kept_in_files_as
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.ops.composites.ragged.tensor import RaggedTensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType

__all__ = ["RaggedTensorSpec"]


@kept_in_files_as("RAGGED_TENSOR_SPEC")
class RaggedTensorSpec(CompositeSpec):
    """The static type of a ragged tensor, known before there is one.

    Args:
        shape: None for ragged and unknown axes.
        dtype: dtype of the values.
        ragged_rank: how many axes are stored as row splits; by default all but the innermost.
        row_splits_dtype: int32 or int64.
        flat_values_spec: spec of the flat values, if they are no plain tensor.
    """

    __slots__ = ("_dtype", "_flat_values_spec", "_ragged_rank", "_row_splits_dtype", "_shape")

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = dtypes.int64,
        flat_values_spec: Any = None,
    ) -> None:
        self._shape = Shape(shape)
        self._row_splits_dtype = dtypes.as_dtype(row_splits_dtype)
        if self._row_splits_dtype not in dtypes.INDEX:
            raise ValueError(
                "RaggedTensorSpec: row_splits_dtype must be int32 or int64, got "
                f"{self._row_splits_dtype.name}"
            )
        if dtype is None and flat_values_spec is None:
            raise ValueError("RaggedTensorSpec: dtype or flat_values_spec must be given")
        self._dtype = flat_values_spec.dtype if dtype is None else dtypes.as_dtype(dtype)
        self._flat_values_spec = flat_values_spec
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError(
                    "RaggedTensorSpec: ragged_rank must be given where the rank is unknown"
                )
            ragged_rank = rank - 1
        self._ragged_rank = int(ragged_rank)
        if rank is not None and self._ragged_rank >= max(rank, 1):
            raise ValueError(
                f"RaggedTensorSpec: ragged_rank must be below the rank {rank}, got {ragged_rank}"
            )

    @property
    def shape(self) -> Shape:
        """The sizes of the axes; None for ragged or unknown ones."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._dtype

    @property
    def ragged_rank(self) -> int:
        """The number of axes stored as row splits."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self) -> DType:
        """int32 or int64."""
        return self._row_splits_dtype

    @property
    def flat_values_spec(self) -> Any:
        """The spec of the flat values, if one was given."""
        return self._flat_values_spec

    @property
    def value_type(self) -> type:
        """RaggedTensor; Tensor for a ragged rank of 0."""
        return RaggedTensor if self._ragged_rank else Tensor

    @classmethod
    def from_value(cls, value: RaggedTensor) -> RaggedTensorSpec:
        """The spec of a ragged tensor."""
        return value.spec

    def _serialize(self) -> tuple[Any, ...]:
        parts = (self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype)
        return parts if self._flat_values_spec is None else (*parts, self._flat_values_spec)

    def component_specs(self) -> tuple[TensorSpec, ...]:
        """The specs of the flat values, then of the row splits, outermost first."""
        depth, shape = self._ragged_rank, self._shape
        if not depth:
            return (TensorSpec.of(shape, self._dtype),)
        flat = self._flat_values_spec
        if flat is None:
            inner = Shape(None) if shape.rank is None else Shape([None, *shape[depth + 1 :]])
            flat = TensorSpec.of(inner, self._dtype)
        rows = shape[0] if shape.rank else None
        outer = TensorSpec.of(Shape([None if rows is None else rows + 1]), self._row_splits_dtype)
        rest = TensorSpec.of(Shape([None]), self._row_splits_dtype)
        return (flat, outer, *[rest] * (depth - 1))

    def component_names(self) -> tuple[str, ...]:
        """`values`, then `row_splits`, outermost first, `row_splits_1`, ..."""
        depth = self._ragged_rank
        rest = [f"row_splits_{index}" for index in range(1, depth)]
        return ("values", *(["row_splits"] if depth else []), *rest)

    def to_components(self, value: Any) -> tuple[object, ...]:
        """The flat values, then the row splits."""
        if not isinstance(value, RaggedTensor):
            return (value,)
        return (value.flat_values, *value.nested_row_splits)

    def from_components(self, components: Sequence[Any]) -> Any:
        """The ragged tensor of these components, without checks."""
        result, *nested = components
        for splits in reversed(nested):
            result = RaggedTensor(result, splits, internal=True)
        if nested and all(isinstance(part, Tensor) for part in components):
            result._set_shape(self._shape)
        return result

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether the value, or a value of that spec, may be one of this spec."""
        if not self._ragged_rank and isinstance(spec_or_value, Tensor):
            return self.component_specs()[0].is_compatible_with(spec_or_value)
        return super().is_compatible_with(spec_or_value)
