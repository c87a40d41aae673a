"""`keras.legacy.saving`: objects in Keras 2's form, {"class_name", "config"}."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras import registry as _registry

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["deserialize_keras_object", "serialize_keras_object"]


def serialize_keras_object(instance: Any) -> Any:
    """An object as Keras 2 stores it: class and configuration, the name of a function, or None.

    Args:
        instance: an object with `get_config`, a function, or None.

    Raises:
        ValueError: something else.
    """
    if instance is None:
        return None
    if hasattr(instance, "get_config") and not isinstance(instance, type):
        name = _registry.get_registered_name(type(instance))
        return {"class_name": name, "config": _stored(instance.get_config())}
    if hasattr(instance, "__name__"):
        return _registry.get_registered_name(instance)
    raise ValueError(
        f"serialize_keras_object: Cannot serialize {instance!r} because it doesn't implement "
        "`get_config()`"
    )


def _stored(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with its objects and functions in the same form."""
    plain = (str, bool, int, float, dict, list, tuple, type(None))
    return {
        key: value if isinstance(value, plain) else serialize_keras_object(value)
        for key, value in config.items()
    }


def deserialize_keras_object(
    identifier: Any,
    module_objects: Mapping[str, Any] | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    printable_module_name: str = "object",
) -> Any:
    """The object that `serialize_keras_object` stored.

    Args:
        identifier: class and configuration; a name, of a function or of a class, of which an object
            is made; a function; or None.
        module_objects: name -> class or function.
        custom_objects: the same, asked first.
        printable_module_name: name in messages.

    Raises:
        ValueError: a name that nothing has, or another identifier.
    """
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, str):
        found = _named(identifier, module_objects, custom_objects)
        if found is None:
            raise ValueError(
                f"deserialize_keras_object: Unknown {printable_module_name}: {identifier!r}\n"
                "  Try: custom_objects={name: class}"
            )
        return found() if isinstance(found, type) else found
    if not isinstance(identifier, dict) or "class_name" not in identifier:
        raise ValueError(
            "deserialize_keras_object: Could not interpret serialized "
            f"{printable_module_name}: {identifier!r:.100}"
        )
    name, config = identifier["class_name"], identifier.get("config", {})
    found = _named(name, module_objects, custom_objects)
    if found is None:
        return _registry.deserialize_keras_object(identifier, dict(custom_objects or {}))
    return found.from_config(config) if hasattr(found, "from_config") else found(**config)


def _named(name: str, modules: Mapping[str, Any] | None, custom: Mapping[str, Any] | None) -> Any:
    return _registry.get_registered_object(name, dict(custom or {}), dict(modules or {}))
