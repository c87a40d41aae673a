"""Registered names of user-defined specs in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework import composite

if TYPE_CHECKING:
    from collections.abc import Callable

# Programs look up names here, and remove a name to register it again.
_NAME_TO_TYPE_SPEC = composite._registered
_TYPE_SPEC_TO_NAME: dict[type, str] = {}


def register(name: str) -> Callable[[type[composite.CompositeSpec]], type[composite.CompositeSpec]]:
    """A decorator: files hold specs of the class under this name.

    Args:
        name: words joined by '.', those of the project first.

    Raises:
        ValueError: the name has another form, or belongs to another class.
        TypeError: the name is no string.
    """
    if isinstance(name, str) and name in _NAME_TO_TYPE_SPEC:
        raise ValueError(
            f"Name {name} has already been registered for class {_NAME_TO_TYPE_SPEC[name]}."
        )
    kept = composite.registered_as(name)

    def decorate(kind: type[composite.CompositeSpec]) -> type[composite.CompositeSpec]:
        kept(kind)
        _TYPE_SPEC_TO_NAME[kind] = name
        return kind

    return decorate


def get_name(kind: type) -> str | None:
    """The name of a class of specs, if it has one."""
    return _TYPE_SPEC_TO_NAME.get(kind)


def lookup(name: str) -> type:
    """The class of specs of a name.

    Raises:
        ValueError: no class is registered under the name.
    """
    if name not in _NAME_TO_TYPE_SPEC:
        raise ValueError(f"No TypeSpec has been registered with name {name!r}")
    return _NAME_TO_TYPE_SPEC[name]


__all__ = ["get_name", "lookup", "register"]
