"""The arguments of a layer's constructor as its configuration."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from pinnace.keras import registry

if TYPE_CHECKING:
    from pinnace.keras.layer import Layer

_OF_LATER = ("lora_rank", "lora_alpha", "gptq_unpacked_column_size", "quantization_config")


def constructor_config(layer: Layer) -> dict[str, Any]:
    """The constructor's arguments, without name, trainable and dtype.

    Raises:
        NotImplementedError: an argument that cannot be stored.
    """
    args, kwargs = layer._constructor
    bound = inspect.signature(type(layer).__init__).bind(layer, *args, **kwargs)
    bound.apply_defaults()
    given: dict[str, Any] = {}
    for name, parameter in list(bound.signature.parameters.items())[1:]:
        value = bound.arguments[name]
        if parameter.kind is parameter.VAR_KEYWORD:
            given.update(value)
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            given[name] = value
        elif value:
            raise NotImplementedError(
                f"{type(layer).__name__}.get_config: arguments *{name} have no names\n"
                "  Try: define get_config"
            )
    for name in ("name", "trainable", "dtype"):
        given.pop(name, None)
    # Older versions of Keras do not know these: they are told only where they say something.
    for name in _OF_LATER:
        if name in given and vars(layer).get(name, given[name]) is None:
            del given[name]
    # What this library's layers keep under an argument's name is that argument, normalised.
    ours = type(layer).__module__.startswith("pinnace.keras.")
    return {name: _stored(layer, name, value, ours) for name, value in given.items()}


def _stored(layer: Layer, name: str, value: Any, ours: bool) -> Any:
    if ours:
        value = vars(layer).get(name, value)
    try:
        if callable(value) and not hasattr(value, "get_config"):
            from pinnace.keras import activations

            return activations.serialize(value)
        if hasattr(value, "get_config"):
            return registry.serialize_keras_object(value)
        if _is_plain(value):
            return value
        return registry.serialize_keras_object(value)
    except ValueError as error:
        raise NotImplementedError(
            f"{type(layer).__name__}.get_config: argument {name!r} cannot be stored: {error}\n"
            "  Try: define get_config and from_config"
        ) from None


def _is_plain(value: Any) -> bool:
    """Whether lists and tuples hold nothing but numbers, strings and None."""
    if isinstance(value, (list, tuple)):
        return all(_is_plain(item) for item in value)
    return value is None or type(value) in {bool, int, float, str}
