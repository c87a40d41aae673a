"""clone_model: the same model with new weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras import registry
from pinnace.keras.layers.input import InputLayer
from pinnace.keras.models.functional import Functional
from pinnace.keras.models.graph_config import rebuilt
from pinnace.keras.models.model import Model
from pinnace.keras.models.sequential import Sequential

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.keras.layer import Layer


def clone_model(
    model: Any, input_tensors: Any = None, clone_function: Callable[[Any], Any] | None = None
) -> Any:
    """A model with the same layers, made anew, and new weights.

    Args:
        model: of any kind; a subclass of Model must have a configuration.
        input_tensors: accepted for Keras' sake for Sequential models: its Input.
        clone_function: gives the new layer for an old one.
    """
    if isinstance(model, Sequential):
        made = Sequential(name=model.name)
        given = model._input
        if input_tensors is not None:
            made.add(input_tensors)
        elif given is not None:
            made.add(_again(given.node.layer))
        for layer in model.layers:
            made.add(clone_function(layer) if clone_function else _again(layer))
        return made
    if isinstance(model, Functional):
        by_name = {layer.name: layer for layer in model._layers}

        def make(config: dict[str, Any]) -> Any:
            layer = by_name[config["name"]]
            if clone_function is not None and not isinstance(layer, InputLayer):
                return clone_function(layer)
            return _again(layer)

        inputs, outputs = rebuilt(model.get_config(), make)
        return type(model)(inputs, outputs, name=model.name)
    if not isinstance(model, Model):
        raise TypeError(f"clone_model: model must be a Model, got {type(model).__name__}")
    return type(model).from_config(model.get_config())


def _again(layer: Layer) -> Any:
    if isinstance(layer, Model):
        return clone_model(layer)
    return type(layer).from_config(layer.get_config())


def model_from_json(text: str, custom_objects: dict[str, Any] | None = None) -> Any:
    """The model whose `to_json` gave the text, with new weights."""
    import json

    return registry.deserialize_keras_object(json.loads(text), custom_objects)
