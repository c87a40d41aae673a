"""clone_model: the same model with new weights."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.keras import registry
from pinnace.keras.layers.input import InputLayer
from pinnace.keras.models.functional import Functional
from pinnace.keras.models.graph_config import rebuilt
from pinnace.keras.models.model import Model
from pinnace.keras.models.sequential import Sequential
from pinnace.keras.symbolic import KerasTensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.keras.layer import Layer


def clone_model(
    model: Any,
    input_tensors: Any = None,
    clone_function: Callable[[Any], Any] | None = None,
    call_function: Callable[..., Any] | None = None,
    recursive: bool = False,
    **kwargs: Any,
) -> Any:
    """A model with copies of the layers and new weights.

    Args:
        model: a model of any kind; a subclass of Model must have a configuration.
        input_tensors: the inputs of the new model, in the structure of the old one's: KerasTensors,
            or an InputLayer for a Sequential model; new ones if None.
        clone_function: gives the new layer for an old one; a layer that is used twice is made once.
        call_function: called as `call_function(layer, *args, **kwargs)` where a new layer is called
            on new inputs; gives the outputs. For functional models only.
        recursive: whether models in the model are cloned layer by layer with the same two
            functions, rather than given to `clone_function`.
        **kwargs: `cache`: a dict of the layers made so far, by the id of the old ones.

    Raises:
        ValueError: an argument that this kind of model does not take.
        TypeError: no Model.
    """
    made = kwargs.pop("cache", None)
    if kwargs:
        raise ValueError(f"clone_model: takes no argument {', '.join(sorted(kwargs))}")
    if not isinstance(model, Model):
        raise TypeError(f"clone_model: model must be a Model, got {type(model).__name__}")
    layers = _Layers(clone_function, call_function, recursive, {} if made is None else made)
    if isinstance(model, Sequential):
        if call_function is not None:
            raise ValueError(
                "clone_model: call_function is for functional models: a Sequential lists its "
                "layers and calls none\n  Try: clone_function, which may give several layers in one"
            )
        return _sequential(model, input_tensors, layers)
    if isinstance(model, Functional):
        return _functional(model, input_tensors, layers)
    for name, value in (
        ("input_tensors", input_tensors),
        ("clone_function", clone_function),
        ("call_function", call_function),
    ):
        if value is not None:
            raise ValueError(
                f"clone_model: {name} is for Sequential and functional models, "
                f"got a {type(model).__name__}"
            )
    clone = type(model).from_config(model.get_config())
    told = model.get_build_config() if model.built else None
    if told and not clone.built:  # as in Keras, so that it can be given the weights
        clone.build_from_config(told)
    return clone


@dataclass(frozen=True, slots=True)
class _Layers:
    """Old layer -> new layer, each created once."""

    clone: Callable[[Any], Any] | None
    call: Callable[..., Any] | None
    recursive: bool
    made: dict[int, Any]

    def another(self, layer: Any) -> Any:
        if id(layer) not in self.made:
            self.made[id(layer)] = self._another(layer)
        return self.made[id(layer)]

    def _another(self, layer: Any) -> Any:
        if isinstance(layer, (Sequential, Functional)) and self.recursive:
            call = None if isinstance(layer, Sequential) else self.call
            return clone_model(layer, None, self.clone, call, True, cache=self.made)
        return _again(layer) if self.clone is None else self.clone(layer)


def _sequential(model: Sequential, input_tensors: Any, layers: _Layers) -> Sequential:
    made = Sequential(name=model.name, trainable=model.trainable)
    given = model._input
    if isinstance(input_tensors, (list, tuple)):
        if len(input_tensors) != 1:
            raise ValueError(
                f"clone_model: input_tensors must be one tensor for a Sequential model, "
                f"got {len(input_tensors)}"
            )
        input_tensors = input_tensors[0]
    if input_tensors is not None:
        made.add(input_tensors)
    elif given is not None:
        made.add(_again(given.node.layer))
    for layer in model.layers:
        made.add(layers.another(layer))
    _compile_likewise(model, made)
    return made


def _functional(model: Functional, input_tensors: Any, layers: _Layers) -> Any:
    by_name = {layer.name: layer for layer in model._layers}
    given = _by_input(model, input_tensors)

    def make(config: dict[str, Any]) -> Any:
        layer = by_name[config["name"]]
        return _again(layer) if isinstance(layer, InputLayer) else layers.another(layer)

    inputs, outputs = rebuilt(model.get_config(), make, layers.call, given)
    made = type(model)(inputs, outputs, name=model.name)
    _compile_likewise(model, made)
    return made


def _by_input(model: Functional, input_tensors: Any) -> dict[str, KerasTensor]:
    """The name of an old input layer -> the tensor that replaces its own."""
    if input_tensors is None:
        return {}
    given, known = structure.flatten(input_tensors), structure.flatten(model.input)
    if not all(isinstance(x, KerasTensor) for x in given):
        raise ValueError(
            f"clone_model: input_tensors must be {len(known)} KerasTensors, got {input_tensors!r}"
        )
    if [path for path, _ in structure.flatten_with_paths(input_tensors)] != [
        path for path, _ in structure.flatten_with_paths(model.input)
    ]:
        raise ValueError(
            "clone_model: `input_tensors` must have the same structure as model.input, "
            f"{model.input!r}, got {input_tensors!r}"
        )
    return {old.node.layer.name: new for old, new in zip(known, given, strict=True)}


def _compile_likewise(model: Any, made: Any) -> None:
    """Compile the new model like the old one, if that is compiled and can be described."""
    if not model.compiled:
        return
    try:
        config = model.get_compile_config()
    except (NotImplementedError, ValueError) as error:
        warnings.warn(f"clone_model: the new model is not compiled: {error}", stacklevel=3)
        return
    made.compile_from_config(config)


def _again(layer: Layer) -> Any:
    if isinstance(layer, Model):
        return clone_model(layer)
    return type(layer).from_config(layer.get_config())


def model_from_json(json_string: str, custom_objects: dict[str, Any] | None = None) -> Any:
    """The model whose `to_json` gave the text, of Keras 2 too, with new weights.

    Args:
        json_string: the text.
        custom_objects: classes and functions by name, beside those of Keras and the registered
            ones.
    """
    import json

    # Imported here: the modules of model files import this package.
    from pinnace.keras.saving import older_configs

    config = older_configs.as_of_today(json.loads(json_string))
    return registry.deserialize_keras_object(config, custom_objects)
