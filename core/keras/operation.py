"""Operation: a function of tensors that can also be a node of a functional model."""

from __future__ import annotations

from typing import Any, ClassVar

from pinnace.keras import configuration
from pinnace.keras.layer import Layer


class _Operations(type):
    """The metaclass: in Keras layers are Operations; here Operations are layers without weights."""

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, Layer) if cls is Operation else super().__instancecheck__(instance)
        )

    def __subclasscheck__(cls, subclass: type) -> bool:
        return (
            issubclass(subclass, Layer) if cls is Operation else super().__subclasscheck__(subclass)
        )


class Operation(Layer, metaclass=_Operations):
    """A function of tensors without weights: subclasses define `call`.

    Called on KerasTensors it returns KerasTensors, and is a node of the functional model, but none
    of its layers. Shapes are inferred by tracing `call`, unless `compute_output_spec` gives them.

    Args:
        name: unique if None.
    """

    _is_operation: ClassVar[bool] = True

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name, autocast=False)
        self.built = True

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> None:
        """None: the result of an operation has no mask."""
        del inputs, previous_mask

    def get_config(self) -> dict[str, Any]:
        """The name and the other arguments of the constructor."""
        return {"name": self.name, **configuration.constructor_config(self)}
