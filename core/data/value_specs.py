"""The spec of any value: `tf.type_spec_from_value`."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any, Self

from pinnace.data.dataset import Dataset
from pinnace.data.dataset_spec import DatasetSpec
from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.specs import TensorSpec, TypeSpec
from pinnace.framework.tensor import Tensor
from pinnace.framework.trackable import is_variable

if TYPE_CHECKING:
    from collections.abc import Sequence


class NoneTensorSpec(TypeSpec):
    """The spec of None, and of nothing else."""

    __slots__ = ()

    @property
    def value_type(self) -> type:
        """NoneType."""
        return NoneType

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether the value is None, or the spec that of None."""
        return spec_or_value is None or isinstance(spec_or_value, NoneTensorSpec)

    def is_subtype_of(self, other: object) -> bool:
        """Whether the other is the spec of None too."""
        return isinstance(other, NoneTensorSpec)

    def most_specific_common_supertype(self, others: Sequence[object]) -> Self | None:
        """Itself, if the others are specs of None too."""
        return self if all(isinstance(other, NoneTensorSpec) for other in others) else None

    def component_specs(self) -> tuple[TensorSpec, ...]:
        """None is made of no tensors."""
        return ()

    def to_components(self, value: object) -> tuple[object, ...]:
        """None is made of no tensors."""
        del value
        return ()

    def from_components(self, components: Sequence[object]) -> None:
        """None."""
        del components

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoneTensorSpec)

    def __hash__(self) -> int:
        return hash(NoneTensorSpec)

    def __repr__(self) -> str:
        return "NoneTensorSpec()"


def type_spec_from_value(value: Any) -> Any:
    """The TypeSpec of a value.

    Args:
        value: a tensor, a variable, a composite value such as a RaggedTensor, a Dataset, None, or
            what becomes a tensor.

    Raises:
        TypeError: no spec describes such a value.
    """
    if value is None:
        return NoneTensorSpec()
    if isinstance(value, Dataset):
        return DatasetSpec(value.element_spec)
    if is_composite(value) or is_variable(value):
        return value.spec
    try:
        tensor = value if isinstance(value, Tensor) else convert_to_tensor(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"Could not build a TypeSpec for {value!r} of unsupported type {type(value).__name__}"
        ) from error
    return TensorSpec(tensor.shape, tensor.dtype)
