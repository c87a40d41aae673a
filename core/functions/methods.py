"""Functions bound to objects: cached in the object, without keeping it alive."""

from __future__ import annotations

import functools
import inspect
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.functions.function import Function


class _BoundTo:
    """The functions bound to an object, stored on it: they may refer back to it.

    The cache is not a table keyed by the object: a graph in such a table that refers to a Python
    function of the object would keep both alive forever. Copies of the object, and unpickled ones,
    start with an empty cache.

    Args:
        instance: the object.
    """

    __slots__ = ("functions", "owner")

    def __init__(self, instance: object) -> None:
        self.owner = weakref.ref(instance)
        self.functions: dict[Function[..., Any], Function[..., Any]] = {}

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


_BOUND = "_pinnace_bound_functions"
# For objects that do not allow attributes.
_bound_elsewhere: weakref.WeakKeyDictionary[Any, _BoundTo] = weakref.WeakKeyDictionary()


def bound_functions(instance: object) -> dict[Function[..., Any], Function[..., Any]]:
    """The functions that are bound to an object."""
    attributes = getattr(instance, "__dict__", None)
    if type(attributes) is not dict:
        kept = _bound_elsewhere.get(instance)
        if kept is None:
            kept = _bound_elsewhere[instance] = _BoundTo(instance)
        return kept.functions
    kept = attributes.get(_BOUND)
    if kept is None or kept.owner() is not instance:
        kept = attributes[_BOUND] = _BoundTo(instance)
    return kept.functions


def weakly_bound(function: Callable[..., Any], instance: object) -> Callable[..., Any]:
    """A bound method that does not keep its object alive."""
    from pinnace.functions.autograph.conversion import autograph_artifact, converted_call

    reference = weakref.ref(instance)

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        target = reference()
        if target is None:
            raise ReferenceError(f"the object that {function.__name__!r} was bound to is gone")
        return converted_call(function, (target, *args), kwargs)

    method.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return autograph_artifact(method)
