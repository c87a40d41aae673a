"""DatasetSpec: the type of a dataset as an argument of a function or as part of an element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pinnace.framework import dtypes, structure
from pinnace.framework.composite import CompositeSpec, kept_in_files_as
from pinnace.framework.shapes import Shape, as_shape
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.shapes import ShapeLike


@kept_in_files_as("DATA_DATASET_SPEC")
class DatasetSpec(CompositeSpec):
    """The type of a dataset as an argument of a function or as part of an element.

    Args:
        element_spec: spec of its elements.
        dataset_shape: `[]` for one dataset, `[n]` for a list of them, whose elements are alike.
    """

    __slots__ = ("element_spec", "shape")
    # `Dataset`, which stands above: its file sets it.
    _value_type: ClassVar[Any]

    def __init__(self, element_spec: Any, dataset_shape: ShapeLike = ()) -> None:
        self.element_spec = element_spec
        self.shape: Shape = as_shape(dataset_shape)

    @property
    def value_type(self) -> type:
        """`Dataset`."""
        kind: type = self._value_type
        return kind

    def _serialize(self) -> tuple[Any, ...]:
        return (self.element_spec, self.shape)

    def component_specs(self) -> tuple[TensorSpec, ...]:
        """The spec of the variant by which ops read the dataset."""
        return (TensorSpec.of(self.shape, dtypes.variant),)

    def to_components(self, value: Any) -> tuple[object, ...]:
        """The variant of the dataset."""
        return (value.variant_tensor,)

    def from_components(self, components: Sequence[Any]) -> object:
        """The dataset of a variant."""
        return self._value_type._of_variant(components[0], self.element_spec)

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    def __hash__(self) -> int:
        return hash((DatasetSpec, tuple(structure.flatten(self.element_spec))))

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec}, {self.shape!r})"
