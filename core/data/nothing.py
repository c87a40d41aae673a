"""The spec of None in an element."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Self

from pinnace.framework.specs import TensorSpec, TypeSpec

if TYPE_CHECKING:
    from collections.abc import Sequence


class NoneTensorSpec(TypeSpec):
    """The spec of None."""

    __slots__ = ()

    @property
    def value_type(self) -> type:
        """The class of None."""
        return NoneType

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether the value is None, or a spec of None."""
        return spec_or_value is None or isinstance(spec_or_value, NoneTensorSpec)

    def is_subtype_of(self, other: object) -> bool:
        """Whether the other is a spec of None too."""
        return isinstance(other, NoneTensorSpec)

    def most_specific_common_supertype(self, others: Sequence[object]) -> Self | None:
        """The spec itself, if the others are specs of None too; else None."""
        return self if all(isinstance(other, NoneTensorSpec) for other in others) else None

    def component_specs(self) -> tuple[TensorSpec, ...]:
        """None has no component tensors."""
        return ()

    def to_components(self, value: object) -> tuple[object, ...]:
        """None has no component tensors."""
        del value
        return ()

    def from_components(self, components: Sequence[object]) -> None:
        """None itself."""
        del components

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoneTensorSpec)

    def __hash__(self) -> int:
        return hash(NoneTensorSpec)

    def __repr__(self) -> str:
        return "NoneTensorSpec()"
