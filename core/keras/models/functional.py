"""Functional: a model defined by KerasTensors."""

from __future__ import annotations

from typing import Any, Self

from pinnace.keras.models import graph_config
from pinnace.keras.models.model import Model


class Functional(Model):
    """The result of `Model(inputs, outputs)`.

    Args:
        inputs: a structure of KerasTensors.
        outputs: a structure of KerasTensors.
        name: name of the model.
        **kwargs: see Layer.
    """

    def __init__(self, inputs: Any, outputs: Any, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(inputs, outputs, name=name, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Layers, their calls, inputs and outputs in Keras' form."""
        return graph_config.configuration(self, self._known_topology("configuration"))

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Self:
        """The model with a configuration, with new weights."""
        return graph_config.from_graph(cls, config, custom_objects)
