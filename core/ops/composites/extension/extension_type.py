"""`experimental.extension_type`: functions on extension type values."""

from __future__ import annotations

from typing import Any

from pinnace.ops.composites.extension.types import ExtensionType

__all__ = ["as_dict"]


def as_dict(value: ExtensionType) -> dict[str, Any]:
    """The fields of a value of an extension type, by name; fields of its fields stay in them.

    Args:
        value: the value.

    Raises:
        TypeError: the value is of no extension type.
    """
    if not isinstance(value, ExtensionType):
        raise TypeError(f"as_dict: value must be of an extension type, got {type(value).__name__}")
    return {field.name: getattr(value, field.name) for field in value._extension_fields()}
