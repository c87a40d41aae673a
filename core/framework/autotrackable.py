"""Objects whose attributes are their children."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, TypeVar

from pinnace.framework.containers import wrap
from pinnace.framework.trackable import NoDependency, Trackable

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


class AutoTrackable(Trackable):
    """An object whose trackable attributes are its children.

    Assigned lists and dicts become tracked containers, and so do tuples that contain something
    trackable; items added later are tracked too. Attributes that a class names in `_untracked` are
    stored unchanged.
    """

    # The names of attributes that are bookkeeping: neither children nor wrapped. Each class states
    # its own, and has those of its bases.
    _untracked: ClassVar[frozenset[str]] = frozenset()
    _self_setattr_tracking = True

    def _no_dependency(self, value: object) -> object:
        """The value without dependency tracking; TensorFlow's name, which packages call."""
        return NoDependency(value)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        stated = (vars(base).get("_untracked", ()) for base in cls.__mro__)
        cls._untracked = frozenset().union(*stated)

    def __setattr__(self, name: str, value: object) -> None:
        if name in self._untracked:
            pass
        elif isinstance(value, (Trackable, list, dict, tuple, NoDependency)):
            value = self._tracked_value(name, value)
        elif "_tracked" in self.__dict__:
            self._tracked.pop(name, None)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._untrack(name)
        super().__delattr__(name)

    def _tracked_value(self, name: str, value: object) -> object:
        """The object to store for `value`, after recording it as a child."""
        if isinstance(value, NoDependency):
            self._untrack(name)
            return value.value
        # A property stores its value under another name, and is tracked there.
        if not self._self_setattr_tracking or isinstance(getattr(type(self), name, None), property):
            return value
        value = wrap(value)
        if isinstance(value, Trackable):
            self._track(name, value, overwrite=True)
        else:
            self._untrack(name)
        return value


def no_automatic_dependency_tracking(
    method: Callable[Concatenate[AutoTrackable, P], R],
) -> Callable[Concatenate[AutoTrackable, P], R]:
    """The method, with tracking and wrapping of the attributes it sets disabled."""

    @functools.wraps(method)
    def untracked(self: AutoTrackable, /, *args: P.args, **kwargs: P.kwargs) -> R:
        before = self._self_setattr_tracking
        object.__setattr__(self, "_self_setattr_tracking", False)
        try:
            return method(self, *args, **kwargs)
        finally:
            object.__setattr__(self, "_self_setattr_tracking", before)

    return untracked
