"""Pipeline: a sequence of preprocessing layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pinnace.keras import masks, registry
from pinnace.keras.layer import Layer

if TYPE_CHECKING:
    from collections.abc import Sequence


class Pipeline(Layer):
    """Applies layers one after the other.

    Args:
        layers: layers, each applied to the output of the one before.
        name: unique if None.

    Shapes:
        x as the first layer takes it → as the last one gives it.
    """

    def __init__(self, layers: Sequence[Layer], name: str | None = None) -> None:
        super().__init__(name=name)
        self._pipeline_layers = list(layers)
        self._build_at_init()

    @property
    def layers(self) -> list[Layer]:
        """The layers, in the order they are applied."""
        return list(self._pipeline_layers)

    def call(self, inputs: Any, training: bool = True, mask: Any = None) -> Any:
        """The last layer's output.

        Args:
            inputs: for the first layer.
            training: for every layer.
            mask: of `inputs`, for the first layer; the others have that of the layer before.
        """
        masks.attach(inputs, mask)
        for layer in self._pipeline_layers:
            inputs = layer(inputs, training=training)
        return inputs

    def get_config(self) -> dict[str, Any]:
        """The layers and the name."""
        return {
            "layers": [registry.serialize_keras_object(x) for x in self._pipeline_layers],
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The pipeline with that configuration.

        Raises:
            ValueError: the configuration has no list of layers.
        """
        layers = config.get("layers")
        if not isinstance(layers, (list, tuple)):
            raise ValueError(  # noqa: TRY004 (Keras' type)
                "Pipeline: config must contain a `layers` key with a list of serialized layers, "
                f"got {layers!r}"
            )
        made = [registry.deserialize_keras_object(x) for x in layers]
        return cls(made, config.get("name"))
