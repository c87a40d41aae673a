"""Configured: the half of `Layer` that tells what it was made from, and is made from that again."""

from __future__ import annotations

import inspect
from typing import Any, Self

from pinnace.keras import registry
from pinnace.keras import regularizers as _regularizers
from pinnace.keras.weights import Weights


class Configured(Weights):
    """The constructor's arguments as a configuration; see `Layer`."""

    _constructor: tuple[tuple[Any, ...], dict[str, Any]]
    activity_regularizer: Any

    def get_config(self) -> dict[str, Any]:
        """What the constructor takes, as `from_config` understands it.

        A subclass that overrides this gets from here name, trainable and dtype; without, its
        constructor's arguments are remembered and told.

        Raises:
            NotImplementedError: an argument that cannot be stored.
        """
        base = {
            "name": self._name,
            "trainable": self._trainable,
            "dtype": registry.serialize_keras_object(self._policy),
        }
        if type(self).get_config is not Configured.get_config:
            if self.activity_regularizer is not None:
                base["activity_regularizer"] = _regularizers.serialize(self.activity_regularizer)
            return base
        return {**base, **self._constructor_config()}

    def _constructor_config(self) -> dict[str, Any]:
        args, kwargs = self._constructor
        bound = inspect.signature(type(self).__init__).bind(self, *args, **kwargs)
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
                    f"{type(self).__name__}.get_config: arguments *{name} have no names\n"
                    "  Try: define get_config"
                )
        for name in ("name", "trainable", "dtype"):
            given.pop(name, None)
        # What this library's layers keep under an argument's name is that argument, normalised.
        ours = type(self).__module__.startswith("pinnace.keras.")
        return {name: self._stored(name, value, ours) for name, value in given.items()}

    def _stored(self, name: str, value: Any, ours: bool) -> Any:
        if ours:
            value = self.__dict__.get(name, value)
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
                f"{type(self).__name__}.get_config: argument {name!r} cannot be stored: {error}\n"
                "  Try: define get_config and from_config"
            ) from None

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The layer with that configuration."""
        arguments = {key: registry.deserialize_keras_object(value) for key, value in config.items()}
        try:
            return cls(**arguments)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}.from_config: {error}") from error


def _is_plain(value: Any) -> bool:
    """Whether lists and tuples hold nothing but numbers, strings and None."""
    if isinstance(value, (list, tuple)):
        return all(_is_plain(item) for item in value)
    return value is None or type(value) in {bool, int, float, str}
