"""The layers and calls of a functional model as a configuration, in Keras' form."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from pinnace.framework import structure
from pinnace.keras import registry
from pinnace.keras.call_signature import plain
from pinnace.keras.layers.input import InputLayer
from pinnace.keras.symbolic import KerasTensor, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.keras.layer import Layer
    from pinnace.keras.models.model import Model
    from pinnace.keras.models.topology import Topology

M = TypeVar("M", bound="Model")


def configuration(model: Model, topology: Topology) -> dict[str, Any]:
    """The name of a model, its `trainable` flag, and its graph."""
    own = {"name": model.name, "trainable": model.trainable}
    return {**own, **stored(topology, model._layers)}


def is_made_of_tensors(kind: type) -> bool:
    """Whether the constructor of a class takes inputs and outputs, like Model's."""
    names = [*inspect.signature(kind.__init__).parameters][1:]  # type: ignore[misc]  # it is only looked at
    return names == ["args", "kwargs"] or names[:2] == ["inputs", "outputs"]


def stored(topology: Topology, layers: Sequence[Layer]) -> dict[str, Any]:
    """The layers, their calls, inputs and outputs."""
    names = _unique_names(layers)
    places = _places(topology.nodes, topology.flat_inputs, names)
    entries = []
    for layer in layers:
        own = [node for node in topology.nodes if node.layer is layer]
        told = registry.serialize_keras_object(layer)
        if names[id(layer)] != layer.name:
            told["config"] = {**told["config"], "name": names[id(layer)]}
        entries.append(
            {
                **told,
                "name": names[id(layer)],
                "inbound_nodes": [_stored_call(node, places) for node in own],
            }
        )
    return {
        "layers": entries,
        "input_layers": _stored_structure(topology.inputs, places),
        "output_layers": _stored_structure(topology.outputs, places),
    }


def from_graph(kind: type[M], config: dict[str, Any], custom_objects: dict[str, Any] | None) -> M:
    """A model of the given class, with the layers and calls of a Functional's configuration.

    The configuration may be one of Keras 2, as in Keras.
    """
    if any(isinstance(call, list) for entry in config["layers"] for call in entry["inbound_nodes"]):
        from pinnace.keras.saving import older_configs  # few programs have such a configuration

        whole = {"class_name": "Functional", "config": config}
        config = older_configs.converted(older_configs.with_older_rules(whole))["config"]
    inputs, outputs = rebuilt(
        config, lambda c: registry.deserialize_keras_object(c, custom_objects)
    )
    made = kind(inputs, outputs, name=config.get("name"))
    if config.get("trainable") is False:
        made.trainable = False
    return made


def rebuilt(
    config: dict[str, Any],
    make: Callable[[dict[str, Any]], Any],
    call: Callable[..., Any] | None = None,
    given: Mapping[str, KerasTensor] | None = None,
) -> tuple[Any, Any]:
    """The inputs and outputs of the model that a configuration describes.

    Args:
        config: the result of `Functional.get_config`.
        make: gives a layer for its configuration.
        call: calls a layer, the first argument, on the others; None calls it plainly.
        given: name of an input layer -> the replacement of its tensor.

    Raises:
        ValueError: calls that wait for each other, or for a layer that is not there.
    """
    layers: dict[str, Any] = {}
    tensors: dict[tuple[str, int, int], Any] = {}
    waiting: list[tuple[str, int, dict[str, Any]]] = []
    given = given or {}
    for entry in config["layers"]:
        if entry["name"] in given:
            tensors[entry["name"], 0, 0] = given[entry["name"]]
            continue
        layer = make(entry)
        layers[entry["name"]] = layer
        if isinstance(layer, InputLayer):
            tensors[entry["name"], 0, 0] = layer.output
        first = 1 if isinstance(layer, InputLayer) else 0
        waiting.extend(
            (entry["name"], first + i, one) for i, one in enumerate(entry["inbound_nodes"])
        )
    while waiting:
        left = []
        for name, index, stored_call in waiting:
            needed = _histories(stored_call)
            if any(key not in tensors for key in needed):
                left.append((name, index, stored_call))
                continue
            args = _loaded(stored_call["args"], tensors)
            named = _taken(layers[name], _loaded(stored_call["kwargs"], tensors))
            outputs = (call or _plainly)(layers[name], *args, **named)
            for i, x in enumerate(structure.flatten(outputs)):
                tensors[name, index, i] = x
        if len(left) == len(waiting):
            raise ValueError(
                f"Functional.from_config: layers {', '.join(n for n, _, _ in left)} have inputs "
                "that no layer gives"
            )
        waiting = left
    return (
        _loaded_structure(config["input_layers"], tensors),
        _loaded_structure(config["output_layers"], tensors),
    )


def _plainly(layer: Any, *args: Any, **kwargs: Any) -> Any:
    return layer(*args, **kwargs)


def _taken(layer: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call, without those that are None and not accepted by `call`."""
    if all(value is not None for value in kwargs.values()):
        return kwargs
    parameters = inspect.signature(plain(type(layer).call)).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return kwargs
    return {key: x for key, x in kwargs.items() if x is not None or key in parameters}


def _unique_names(layers: Sequence[Layer]) -> dict[int, str]:
    """Id of a layer -> its name; an operation whose name a layer has gets another one."""
    operations = [x for x in layers if getattr(x, "_is_operation", False)]
    names = {id(x): x.name for x in layers}
    taken = {x.name for x in layers if not getattr(x, "_is_operation", False)}
    for x in operations:
        number = 0
        while names[id(x)] in taken:
            number += 1
            names[id(x)] = f"{x.name}_{number}"
        taken.add(names[id(x)])
    return names


def _places(
    nodes: list[Node], inputs: list[KerasTensor], names: Mapping[int, str]
) -> dict[int, list[Any]]:
    """Id of a KerasTensor -> [name of the layer, index of the call, index of the output]."""
    places: dict[int, list[Any]] = {}
    for x in inputs:
        name = names.get(id(x.node.layer), x.node.layer.name) if x.node is not None else x.name
        places[id(x)] = [name, 0, 0]
    counts: dict[int, int] = {}
    for node in nodes:
        first = 1 if isinstance(node.layer, InputLayer) else 0
        call = counts.get(id(node.layer), first)
        counts[id(node.layer)] = call + 1
        for i, x in enumerate(structure.flatten(node.outputs)):
            places[id(x)] = [names.get(id(node.layer), node.layer.name), call, i]
    return places


def _stored_call(node: Node, places: dict[int, list[Any]]) -> dict[str, Any]:
    def store(x: Any) -> Any:
        if isinstance(x, KerasTensor):
            return {
                "class_name": "__keras_tensor__",
                "config": {
                    "shape": x.spec.shape.dims,
                    "dtype": x.dtype.name,
                    "keras_history": places[id(x)],
                },
            }
        if isinstance(x, dict):
            return {key: store(value) for key, value in x.items()}
        if isinstance(x, tuple):
            return {"class_name": "__tuple__", "items": [store(item) for item in x]}
        if isinstance(x, list):
            return [store(item) for item in x]
        return registry.serialize_keras_object(x)

    args: Any = node.args
    if hasattr(node.layer, "keras_class"):
        args = registry.without_tuples(args)
    return {"args": [store(arg) for arg in args], "kwargs": store(node.kwargs)}


def _histories(stored: Any) -> list[tuple[str, int, int]]:
    if isinstance(stored, dict):
        if stored.get("class_name") in {"__keras_tensor__", registry.MASK}:
            return [tuple(stored["config"]["keras_history"])]
        return [key for value in stored.values() for key in _histories(value)]
    if isinstance(stored, (list, tuple)):
        return [key for value in stored for key in _histories(value)]
    return []


def _loaded(stored: Any, tensors: dict[tuple[str, int, int], Any]) -> Any:
    if isinstance(stored, dict):
        kind = stored.get("class_name")
        if kind == "__keras_tensor__":
            return tensors[tuple(stored["config"]["keras_history"])]
        if kind == registry.MASK:
            return getattr(tensors[tuple(stored["config"]["keras_history"])], "_keras_mask", None)
        if kind == "__tuple__":
            return tuple(_loaded(item, tensors) for item in stored["items"])
        if kind is not None:
            return registry.deserialize_keras_object(stored)
        return {key: _loaded(value, tensors) for key, value in stored.items()}
    if isinstance(stored, list):
        return [_loaded(item, tensors) for item in stored]
    return stored


def _stored_structure(x: Any, places: dict[int, list[Any]]) -> Any:
    if isinstance(x, KerasTensor):
        return list(places[id(x)])
    if isinstance(x, dict):
        return {key: _stored_structure(value, places) for key, value in x.items()}
    if isinstance(x, tuple):
        return tuple(_stored_structure(item, places) for item in x)
    return [_stored_structure(item, places) for item in x]


def _loaded_structure(stored: Any, tensors: dict[tuple[str, int, int], Any]) -> Any:
    if isinstance(stored, dict):
        return {key: _loaded_structure(value, tensors) for key, value in stored.items()}
    if len(stored) == 3 and isinstance(stored[0], str):
        return tensors[stored[0], stored[1], stored[2]]
    items = [_loaded_structure(item, tensors) for item in stored]
    return tuple(items) if isinstance(stored, tuple) else items
