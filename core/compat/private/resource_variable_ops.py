"""Variables: classes, spec, and conversion of structures of variables to tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.specs import TensorSpec
from pinnace.framework.trackable import is_variable
from pinnace.framework.variable import Variable

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DTypeLike
    from pinnace.framework.shapes import ShapeLike

BaseResourceVariable = ResourceVariable = Variable


class VariableSpec(TensorSpec):
    """The type of a variable's value, and whether it is trained.

    Args:
        shape: shape of its value.
        dtype: dtype of its value.
        trainable: whether gradients change it.
        alias_id: equal for arguments that are the same variable.
    """

    __slots__ = ("alias_id", "trainable")

    def __init__(
        self,
        shape: ShapeLike,
        dtype: DTypeLike = "float32",
        trainable: bool = True,
        alias_id: int | None = None,
    ) -> None:
        super().__init__(shape, dtype)
        # Specs cannot be changed once they are made.
        object.__setattr__(self, "trainable", trainable)
        object.__setattr__(self, "alias_id", alias_id)


def is_resource_variable(var: Any) -> bool:
    """Whether it is a variable."""
    return is_variable(var)


def convert_variables_to_tensors(values: Any) -> Any:
    """The structure with variables replaced by their values, also inside composite values."""
    return structure.map_structure(_value, values)


def _value(x: Any) -> Any:
    if is_variable(x):
        return convert_to_tensor(x)
    if is_composite(x) and not isinstance(x, Variable):
        spec = x.spec
        parts = spec.to_components(x)
        if any(map(is_variable, structure.flatten(parts, expand_composites=True))):
            return spec.from_components([_value(part) for part in parts])
    return x


__all__ = [
    "BaseResourceVariable",
    "ResourceVariable",
    "VariableSpec",
    "convert_variables_to_tensors",
    "is_resource_variable",
]
