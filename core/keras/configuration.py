"""A layer's constructor arguments as its configuration, and layers created from one."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from pinnace.keras import dtype_policy as policies
from pinnace.keras import registry

if TYPE_CHECKING:
    from pinnace.keras.layer import Layer

Made = TypeVar("Made", bound="Layer")
# Arguments of every layer, in addition to those of its constructor.
_OF_ALL = ("name", "trainable", "dtype")
# Input descriptions for a first layer: the model stores them, and Keras 3 knows few of these.
_OF_FIRST = ("input_shape", "batch_input_shape", "input_dim", "input_length", "batch_size")
_OF_LATER = ("lora_rank", "lora_alpha", "gptq_unpacked_column_size", "quantization_config")


def constructor_config(layer: Layer) -> dict[str, Any]:
    """The constructor's arguments, without name, trainable and dtype.

    Raises:
        NotImplementedError: an argument that cannot be stored.
    """
    args, kwargs = layer._constructor
    bound = inspect.signature(type(layer).__init__).bind(layer, *args, **kwargs)
    bound.apply_defaults()
    # In this library's layers the attribute of an argument's name is that argument, normalised.
    ours = type(layer).__module__.startswith("pinnace.keras.")
    given: dict[str, Any] = {}
    for name, parameter in list(bound.signature.parameters.items())[1:]:
        value = bound.arguments[name]
        if parameter.kind is parameter.VAR_KEYWORD:
            told = _OF_FIRST if ours else ()
            given.update({key: one for key, one in value.items() if key not in told})
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            given[name] = value
        elif value:
            raise NotImplementedError(
                f"{type(layer).__name__}.get_config: arguments *{name} have no names\n"
                "  Try: define get_config"
            )
    for name in _OF_ALL:
        given.pop(name, None)
    # Older versions of Keras do not know these: they are stored only if they are not None.
    for name in _OF_LATER:
        if name in given and vars(layer).get(name, given[name]) is None:
            del given[name]
    return {name: _stored(layer, name, value, ours) for name, value in given.items()}


def made(kind: type[Made], arguments: dict[str, Any]) -> Made:
    """A layer of this class; arguments that its constructor does not accept are set afterwards.

    Args:
        kind: the class.
        arguments: the arguments of its constructor, with the name, `trainable` and the dtype of the
            layer.

    Raises:
        TypeError: an argument that the constructor does not take.
    """
    parameters = inspect.signature(kind.__init__).parameters
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    later = [] if open_ended else [name for name in _OF_ALL if name not in parameters]
    layer = kind(**{name: value for name, value in arguments.items() if name not in later})
    told = {name: arguments[name] for name in later if name in arguments}
    if "name" in told:
        layer.name = told["name"]
    if told.get("trainable") is False:
        layer.trainable = False
    if "dtype" in told and policies.get(told["dtype"]) != layer.dtype_policy:
        layer.dtype_policy = told["dtype"]
    return layer


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
