"""The configuration of a Keras model in the Keras 2 form that TensorFlow.js reads."""

import inspect
from collections.abc import Mapping
from typing import Any

from pinnace.deploy.refusals import Refusal, UnconvertibleError, refused
from pinnace.deploy.tfjs.layers.known import ACTIVATIONS, LAYERS, RENAMED
from pinnace.keras import layers as keras_layers

_MODELS = ("Sequential", "Functional", "Model")
# Arguments that matter only for training and initialisation, since the files hold the weights.
_LEFT_OUT = ("_initializer", "_regularizer", "_constraint")
# `zero_output_for_mask` lets both directions of Bidirectional agree on padded rows.
_PLAIN = frozenset(
    {"name", "trainable", "autocast", "build_config", "seed", "zero_output_for_mask"}
)


def layers_config(stored: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The `model_config` of a layers model.

    Args:
        stored: the model as Keras serialises it.
        name: the model's name, for errors.

    Raises:
        UnimplementedError: layers are not supported; the message lists all of them.
    """
    state = _Converting()
    made = state.model(stored)
    if state.refusals:
        raise refused(name, state.refusals, "TensorFlow.js' layers")
    return made


class _Converting:
    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[str]] = {}

    @property
    def refusals(self) -> list[Refusal]:
        """The reasons why layers cannot be written, by class."""
        return [
            Refusal(kind, reason, tuple((name, None) for name in names))
            for (kind, reason), names in sorted(self._found.items())
        ]

    def model(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration of a model, which may be nested in another one."""
        kind, config = str(stored.get("class_name")), stored.get("config", {})
        entries = config.get("layers")
        if not isinstance(entries, list):
            self._refuse(kind, str(config.get("name", kind)), "is a subclass with its own code")
            return {}
        if kind == "Sequential":
            inner = {"name": config["name"], "layers": [self.layer(one) for one in entries]}
            return {"class_name": "Sequential", "config": inner}
        models = {entry["name"] for entry in entries if entry.get("class_name") in _MODELS}
        made = []
        for entry in entries:
            layer = self.layer(entry)
            try:
                nodes = [_node(one, models) for one in entry.get("inbound_nodes", ())]
            except UnconvertibleError as error:
                self._refuse(str(entry["class_name"]), entry["name"], error.message)
                nodes = []
            made.append({**layer, "name": entry["name"], "inbound_nodes": nodes})
        inner = {"name": config["name"], "layers": made}
        for key in ("input_layers", "output_layers"):
            try:
                inner[key] = _places(config[key], models)
            except UnconvertibleError as error:
                self._refuse(kind, config["name"], error.message)
        return {"class_name": "Functional", "config": inner}

    def layer(self, entry: Mapping[str, Any]) -> dict[str, Any]:  # noqa: C901 (a case for each kind of argument)
        """The configuration of a layer."""
        kind, config = str(entry.get("class_name")), dict(entry.get("config", {}))
        name = str(config.get("name", kind))
        if kind in _MODELS or "layers" in config:
            return self.model(entry)
        known = LAYERS.get(kind)
        if known is None:
            self._refuse(kind, name, "TensorFlow.js has no such layer")
            return {}
        if kind == "InputLayer":
            config["batch_input_shape"] = config.pop("batch_shape", None)
        made: dict[str, Any] = {"name": name, "trainable": bool(config.get("trainable", True))}
        defaults = _defaults(kind)
        for key, value in config.items():
            place = RENAMED.get((kind, key), key)
            try:
                if key == "dtype":
                    made["dtype"] = _dtype(value)
                elif key in _PLAIN or key.endswith(_LEFT_OUT):
                    continue
                elif place in known:
                    made[place] = self._value(kind, place, value)
                elif value in (None, "channels_last"):
                    continue
                elif not _equal(value, defaults.get(key)):
                    raise UnconvertibleError(f"{key}={value!r} is not supported")  # noqa: TRY301
            except UnconvertibleError as error:
                self._refuse(kind, name, error.message)
        return {"class_name": kind, "config": made}

    def _value(self, kind: str, key: str, value: Any) -> Any:
        if key in ("activation", "recurrent_activation"):
            return _activation(value)
        if key == "layer":
            inner = self.layer(value)
            if kind == "Bidirectional" and inner:
                config = inner["config"]
                config["name"] = config["name"].removeprefix("forward_")
            return inner
        if key == "backward_layer":
            return None  # Keras derives it from the other one
        if key == "reset_after" and value:
            raise UnconvertibleError(
                "reset_after=True, Keras' default, is not supported\n"
                "    Try: a graph model (--tfjs), which needs no such layer"
            )
        if key == "padding" and value == "causal":
            raise UnconvertibleError("padding='causal' is not supported")
        if kind == "Softmax" and isinstance(value, list):
            raise UnconvertibleError(f"axis={value!r} must be a single axis")
        return list(value) if isinstance(value, tuple) else value

    def _refuse(self, kind: str, name: str, reason: str) -> None:
        names = self._found.setdefault((kind, reason), [])
        if name not in names:
            names.append(name)


def _defaults(kind: str) -> dict[str, Any]:
    """The default values of a Keras layer's arguments."""
    cls = getattr(keras_layers, kind, None)
    if cls is None:
        return {}
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        init = base.__dict__.get("__init__")
        if init is not None:
            for name, parameter in inspect.signature(init).parameters.items():
                if parameter.default is not inspect.Parameter.empty:
                    found[name] = parameter.default
    return found


def _equal(value: Any, default: Any) -> bool:
    if value is False and default is None:
        return True
    if isinstance(value, (list, tuple)):
        same = default if isinstance(default, (list, tuple)) else [default] * len(value)
        return list(value) == list(same)
    return bool(value == default)


def _dtype(value: Any) -> str:
    if isinstance(value, Mapping):
        value = value.get("config", {}).get("name")
    if value not in ("float32", "int32", "bool", "string", None):
        raise UnconvertibleError(f"dtype {value!r} is not supported")
    return str(value or "float32")


def _activation(value: Any) -> str:
    if isinstance(value, Mapping):
        value = value.get("config") if value.get("class_name") == "function" else value
    name = value if isinstance(value, str) else None
    found = ACTIVATIONS.get(name or ("linear" if value is None else ""))
    if found is None:
        told = (
            value
            if isinstance(value, str)
            else getattr(value, "get", lambda _: value)("class_name")
        )
        raise UnconvertibleError(f"activation {told!r} is not supported")
    return found


def _node(node: Any, models: set[str]) -> list[Any]:
    """A call of a layer as [[layer, call, output, keywords], …]."""
    if not isinstance(node, Mapping):
        raise UnconvertibleError("is called in an unknown form")
    kwargs = {
        key: value
        for key, value in node.get("kwargs", {}).items()
        if value is not None and not (key == "training" and value is False)
    }
    args = node.get("args", [])
    if kwargs:
        raise UnconvertibleError(f"is called with {', '.join(kwargs)}, which is not supported")
    if len(args) != 1:
        raise UnconvertibleError("is called with several arguments")
    tensors = args[0] if isinstance(args[0], list) else [args[0]]
    return [[*_place(_history(one), models), {}] for one in tensors]


def _history(tensor: Any) -> list[Any]:
    if not isinstance(tensor, Mapping) or tensor.get("class_name") != "__keras_tensor__":
        raise UnconvertibleError("is called with a value that is no layer's output")
    return list(tensor["config"]["keras_history"])


def _place(place: list[Any], models: set[str]) -> list[Any]:
    """The reference to a layer's output; a nested model has an earlier call, at its creation."""
    layer, call, output = place
    return [layer, call + (layer in models), output]


def _places(value: Any, models: set[str]) -> list[Any]:
    if isinstance(value, Mapping):
        raise UnconvertibleError("has inputs or outputs by name, must have a list of them")
    if value and isinstance(value[0], str):
        value = [value]
    return [_place(list(one), models) for one in value]
