"""Operation: a function of tensors that is also a node of functional models."""

from __future__ import annotations

from typing import Any, ClassVar

from pinnace.keras import configuration
from pinnace.keras.layer import Layer


class _Operations(type):
    """Keras: a layer is an Operation too, with weights; here an Operation is a layer without."""

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

    Called on KerasTensors it gives some, and is a node of the functional model, but none of its
    layers. Shapes are found by tracing `call`; `compute_output_spec` may tell them instead.

    Args:
        name: unique if None.
    """

    _is_operation: ClassVar[bool] = True

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name, autocast=False)
        self.built = True

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> None:
        """None: what an operation gives is a plain tensor."""
        del inputs, previous_mask

    def get_config(self) -> dict[str, Any]:
        """The name, and what the constructor was given beside it."""
        return {"name": self.name, **configuration.constructor_config(self)}
