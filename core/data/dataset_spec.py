"""DatasetSpec: the type of a dataset that is part of an element."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pinnace.data.elements import compatible, merged
from pinnace.framework import structure
from pinnace.framework.shapes import Shape, as_shape
from pinnace.framework.specs import TypeSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.data.elements import Nest
    from pinnace.framework.shapes import ShapeLike


class DatasetSpec(TypeSpec):
    """The type of a dataset that is part of an element.

    Args:
        element_spec: spec of its elements.
        dataset_shape: `[]` for one dataset, `[n]` for a list of them, whose elements are alike.
    """

    __slots__ = ("element_spec", "shape")
    # `Dataset`, which stands above: its file sets it.
    _value_type: ClassVar[type]

    def __init__(self, element_spec: Nest, dataset_shape: ShapeLike = ()) -> None:
        self.element_spec = element_spec
        self.shape = as_shape(dataset_shape)

    @property
    def value_type(self) -> type:
        """`Dataset`."""
        return self._value_type

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether a dataset, or one of that spec, conforms to this spec."""
        other = getattr(spec_or_value, "element_spec", None)
        shape = spec_or_value.shape if isinstance(spec_or_value, DatasetSpec) else Shape(())
        return (
            other is not None
            and self.shape.is_compatible_with(shape)
            and compatible(other, self.element_spec)
        )

    def is_subtype_of(self, other: object) -> bool:
        """Whether every dataset of this spec also conforms to `other`."""
        return (
            isinstance(other, DatasetSpec)
            and self.shape.is_subtype_of(other.shape)
            and compatible(self.element_spec, other.element_spec)
        )

    def most_specific_common_supertype(self, others: Sequence[object]) -> DatasetSpec | None:
        """The narrowest spec that includes this one and all others."""
        spec, shape = self.element_spec, self.shape
        for other in others:
            if not isinstance(other, DatasetSpec):
                return None
            spec = merged(spec, other.element_spec)
            if spec is None:
                return None
            shape = shape.most_specific_compatible_shape(other.shape)
        return DatasetSpec(spec, shape)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DatasetSpec)
            and bool(self.element_spec == other.element_spec)
            and bool(self.shape == other.shape)
        )

    def __hash__(self) -> int:
        return hash(tuple(structure.flatten(self.element_spec)))

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec}, {self.shape!r})"
