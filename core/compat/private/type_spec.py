"""User-defined composite values: TensorFlow's protocol on top of pinnace's.

A TensorFlow spec implements `_component_specs`, `_to_components` and `_from_components` for any
nested structure; here `component_specs` and the like use a flat list (`framework/composite.py`).
"""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, Any

from pinnace.data.value_specs import type_spec_from_value as type_spec_from_value
from pinnace.framework import composite, structure
from pinnace.framework.dtypes import DType, as_dtype
from pinnace.framework.shapes import Shape, as_shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.specs import TypeSpec as TypeSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class CompositeTensor(composite.CompositeTensor, ABC):
    """The base of values made of several tensors; a subclass has `_type_spec`."""

    @classmethod
    def __subclasshook__(cls, kind: type) -> Any:
        if cls is CompositeTensor and issubclass(kind, composite.CompositeTensor):
            return True
        return NotImplemented

    @property
    def spec(self) -> TypeSpec:
        """The static type of the value, with the specs of its components."""
        return self._type_spec


class BatchableTypeSpec(composite.CompositeSpec):
    """The base of specs with TensorFlow's protocol.

    A subclass has `value_type`, `_serialize`, `_component_specs` (a property), `_to_components` and
    `_from_components`.
    """

    __slots__ = ()

    @property
    def _flat_specs(self) -> list[Any]:
        return structure.flatten(self._component_specs)

    def component_specs(self) -> tuple[TensorSpec, ...]:
        """The specs of the parts that a value is made of."""
        return tuple(self._flat_specs)

    def to_components(self, value: Any) -> tuple[object, ...]:
        """The parts that `value` is made of, one per component spec."""
        parts = self._to_components(value)
        return tuple(structure.flatten_up_to(self._component_specs, parts, check_types=False))

    def from_components(self, components: Sequence[Any]) -> object:
        """The value made of these parts."""
        return self._from_components(
            structure.pack_sequence_as(self._component_specs, list(components))
        )

    @staticmethod
    def _TypeSpec__is_compatible(mine: Any, theirs: Any) -> bool:  # noqa: N802 -- TensorFlow's name
        return composite.compatible(mine, theirs)


class DenseSpec(BatchableTypeSpec):
    """The base of specs of values that represent one tensor.

    Args:
        shape: shape of the tensor.
        dtype: dtype of the tensor.
        name: name of the argument.
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: Any, dtype: Any = "float32", name: str | None = None) -> None:
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)
        self._name = name

    @property
    def shape(self) -> Shape:
        """The shape of the tensor, as far as it is known."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name of the argument."""
        return self._name

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name


def register_type_spec_from_value_converter(
    type_object: type, converter_fn: Callable[[Any], TypeSpec], allow_subclass: bool = False
) -> None:
    """Have no effect: values of a composite class say their spec themselves.

    Args:
        type_object: the class.
        converter_fn: value -> its spec.
        allow_subclass: whether it is asked for subclasses too.
    """
    del type_object, converter_fn, allow_subclass


__all__ = [
    "BatchableTypeSpec",
    "CompositeTensor",
    "DenseSpec",
    "TypeSpec",
    "register_type_spec_from_value_converter",
    "type_spec_from_value",
]
