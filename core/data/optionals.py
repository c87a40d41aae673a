"""Optional, which holds an element or nothing, and its spec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.elements import leaves_of, normalised, spec_of
from pinnace.framework import dtypes, structure
from pinnace.framework.composite import CompositeSpec, CompositeTensor, kept_in_files_as
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor, wrap
from pinnace.ops.dataset import iterators
from pinnace.ops.execute import execute_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.data.elements import Nest
    from pinnace.framework.dtypes import DType


@kept_in_files_as("OPTIONAL_SPEC")
class OptionalSpec(CompositeSpec):
    """The type of an Optional: the spec of the element that it may hold.

    Args:
        element_spec: a structure with a spec at each leaf.
    """

    __slots__ = ("_element_spec",)

    def __init__(self, element_spec: Nest) -> None:
        self._element_spec = element_spec

    @staticmethod
    def from_value(value: Optional) -> OptionalSpec:
        """The spec of an Optional."""
        return OptionalSpec(value.element_spec)

    @property
    def value_type(self) -> type:
        """`Optional`."""
        return Optional

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec,)

    def __hash__(self) -> int:
        return hash((type(self), tuple(structure.flatten(self._element_spec))))

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    def component_specs(self) -> tuple[TensorSpec, ...]:
        """A scalar variant."""
        return (TensorSpec.of(Shape(()), dtypes.variant),)

    def to_components(self, value: Any) -> tuple[object, ...]:
        """The variant of the Optional."""
        return (value.variant,)

    def from_components(self, components: Sequence[Any]) -> Optional:
        """The Optional of a variant."""
        return VariantOptional(self._element_spec, components[0])


class Optional(CompositeTensor):
    """An element, or nothing.

    Args:
        element_spec: spec of the element.
        value: the element.
        present: whether there is one.
    """

    def __init__(self, element_spec: Nest, value: Any, present: bool) -> None:
        self._spec = element_spec
        self._value = value
        self._present = present

    @staticmethod
    def from_value(value: Any) -> Optional:
        """An Optional with a value."""
        made = normalised(value)
        return Optional(structure.map_structure(spec_of, made), made, True)

    @staticmethod
    def empty(element_spec: Nest) -> Optional:
        """An Optional without a value."""
        return Optional(element_spec, None, False)

    @property
    def spec(self) -> OptionalSpec:
        """The static type: `OptionalSpec`."""
        return OptionalSpec(self._spec)

    @property
    def element_spec(self) -> Nest:
        """The spec of the element."""
        return self._spec

    @property
    def variant(self) -> Tensor:
        """A scalar variant of it."""
        if not self._present:
            return execute_one(iterators.OPTIONAL_NONE)
        parts = structure.flatten(self._value, expand_composites=True)
        return execute_one(iterators.OPTIONAL_FROM_VALUE, parts)

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is a value."""
        del name
        return wrap(np.array(self._present))

    def get_value(self, name: str | None = None) -> Any:
        """The value; InvalidArgumentError if empty."""
        del name
        if not self._present:
            raise InvalidArgumentError("Optional: there is no value")
        return self._value

    def __repr__(self) -> str:
        return f"<Optional {self._value if self._present else 'empty'}>"


class VariantOptional(Optional):
    """An element, or nothing, in a variant; its presence is known only when an op reads it.

    Args:
        element_spec: spec of the element.
        variant: the variant that holds it.
    """

    def __init__(self, element_spec: Nest, variant: Tensor) -> None:
        self._spec = element_spec
        self._variant = variant

    @property
    def variant(self) -> Tensor:
        """The variant."""
        return self._variant

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is a value."""
        del name
        return iterators.optional_has_value(self._variant)

    def get_value(self, name: str | None = None) -> Any:
        """The value; InvalidArgumentError if empty, inside a function only when it runs."""
        del name
        leaves = structure.flatten(self._spec, expand_composites=True)
        parts: Sequence[Tensor] = iterators.optional_value(
            self._variant, [leaf.dtype for leaf in leaves], [leaf.shape for leaf in leaves]
        )
        return structure.pack_sequence_as(self._spec, list(parts), expand_composites=True)

    def __repr__(self) -> str:
        return f"<Optional of {self._spec}>"


def kinds_and_shapes(spec: Nest, who: str) -> tuple[list[DType], list[Shape]]:
    """Dtypes and shapes of the leaves of elements of tensors.

    Raises:
        TypeError: elements hold something else.
    """
    leaves = leaves_of(spec)
    for leaf in leaves:
        if not isinstance(leaf, TensorSpec):
            raise TypeError(f"{who} in a function must give tensors, an element holds {leaf}")
    return [leaf.dtype for leaf in leaves], [leaf.shape for leaf in leaves]


def optional_of(handle: Tensor, spec: Nest) -> Optional:
    """The next element of an iterator as an Optional, computed when the function runs."""
    kinds, shapes = kinds_and_shapes(spec, "an iterator")
    return VariantOptional(spec, iterators.next_optional(handle, kinds, shapes))
