"""Layers that call a function: Lambda and Identity."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Self, Unpack

from pinnace.framework.no_effect import ignored
from pinnace.keras import registry
from pinnace.keras.layer import Layer, LayerOptions

if TYPE_CHECKING:
    from collections.abc import Callable


class Lambda(Layer):
    """function(x, **arguments).

    Args:
        function: takes the inputs first; `training` too if it has such a parameter.
        output_shape: accepted for Keras' sake: shapes are inferred.
        mask: mask of the output, or a function of inputs and their mask that gives it.
        arguments: further keyword arguments.
        **options: see Layer.

    Shapes:
        x [...] → as the function makes it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: Any = None,
        mask: Any = None,
        arguments: dict[str, Any] | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.function = function
        self.output_shape_given = output_shape
        ignored("Lambda", "the function determines its shape", output_shape=output_shape)
        self.mask = mask
        self.arguments = arguments or {}
        parameters = inspect.signature(function).parameters if callable(function) else {}
        self._takes_training = "training" in parameters
        self._takes_mask = "mask" in parameters
        self.supports_masking = mask is not None
        self._build_at_init()

    def get_config(self) -> dict[str, Any]:
        """See Layer.

        Raises:
            NotImplementedError: the function is a lambda, or cannot be imported by its name.
        """
        try:
            function = registry.serialize_keras_object(self.function)
        except ValueError as error:
            raise NotImplementedError(
                f"{self._described()} cannot be stored: {error}\n"
                "  Files never hold code. Or: a Layer of your own, whose call does it"
            ) from None
        shape = self.output_shape_given
        return {
            **super().get_config(),
            "function": function,
            "arguments": registry.serialize_keras_object(dict(self.arguments)),
            **_told("output_shape", list(shape) if isinstance(shape, tuple) else shape),
            **_told("mask", self.mask),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        """The layer with that configuration; bytecode in it is never run.

        Raises:
            ValueError: the function is stored as bytecode, and no custom object has the layer's
                name.
        """
        kept = {"name", "trainable", "dtype", "arguments", "output_shape", "mask"}
        made = {
            key: registry.deserialize_keras_object(value, custom_objects)
            for key, value in config.items()
            if key in kept
        }
        made["function"] = _function_of(config, custom_objects)
        return cls(**made)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The mask that `mask` returns."""
        return self.mask(inputs, previous_mask) if callable(self.mask) else self.mask

    def call(self, x: Any, mask: Any = None, training: bool | None = None) -> Any:
        """The function's result."""
        options = dict(self.arguments)
        if self._takes_mask:
            options["mask"] = mask
        if self._takes_training:
            options["training"] = training
        return self.function(x, **options)


def _told(name: str, value: Any) -> dict[str, Any]:
    """A given argument in its stored form; functions without a name cannot be stored."""
    if value is None or getattr(value, "__name__", "") == "<lambda>":
        return {}
    return {name: registry.serialize_keras_object(value)}


def _function_of(config: dict[str, Any], custom_objects: Any) -> Any:
    stored, name = config.get("function"), config.get("name")
    given = registry.get_registered_object(str(name), custom_objects)
    if callable(given):
        return given
    if isinstance(stored, dict) and stored.get("class_name") == "function":
        return registry.deserialize_keras_object(stored, custom_objects)
    if isinstance(stored, str):  # Keras 2, for a function with a name
        named = {"class_name": "function", "config": stored, "registered_name": stored}
        return registry.deserialize_keras_object({**named, "module": "builtins"}, custom_objects)
    raise ValueError(
        f"Lambda {name!r} holds the bytecode of a function, which is never run\n"
        f"  Try: custom_objects={{{name!r}: the function}}; or a function of its own, with "
        "@register_keras_serializable(), where the model was saved"
    )


class Identity(Layer):
    """The input itself.

    Shapes:
        x [...] → the same.
    """

    def __init__(self, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.supports_masking = True
        self._build_at_init()

    def call(self, x: Any) -> Any:
        """The input itself."""
        return x
