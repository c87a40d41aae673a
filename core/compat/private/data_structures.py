"""Tracked containers: a base class for `isinstance` checks, and the wrapping of attributes."""

from __future__ import annotations

from typing import Any

from pinnace.framework import containers
from pinnace.framework.trackable import NoDependency

_KINDS = (containers.ListWrapper, containers.DictWrapper, containers.TupleWrapper)
ListWrapper = containers.ListWrapper


class _TrackedKind(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _KINDS)


class TrackableDataStructure(metaclass=_TrackedKind):
    """The base class of all tracked containers."""


def wrap_or_unwrap(value: Any) -> Any:
    """The object that a tracked object stores for an attribute's value."""
    return containers.wrap(value)


def sticky_attribute_assignment(trackable: Any, name: str, value: Any) -> Any:
    """The value as the object holds it; the object finds its children in its attributes.

    Args:
        trackable: the object.
        name: name of the attribute.
        value: its new value.
    """
    del trackable, name
    return containers.wrap(value)


__all__ = [
    "ListWrapper",
    "NoDependency",
    "TrackableDataStructure",
    "sticky_attribute_assignment",
    "wrap_or_unwrap",
]
