"""Dispatch hooks: functions that check at each call whether a replacement is registered.

A function has a hook from the first registration for it to the last removal. Before and after, it
costs nothing: the library's functions are called a million times a second, and many are bound where
no wrapper can be put around them (operators are the functions themselves). So the function stays
the same object, and its code is replaced by that of `_enter`. ADR 33.
"""

from __future__ import annotations

import inspect
import threading
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    # A check of a value: whether it matches (None if not), and whether it is a dispatch type.
    Checker = Callable[[Any], bool | None]

__all__ = ["Hook", "hook_of", "put_hook", "remove_hook"]

_lock = threading.Lock()


def _enter(*args: Any, _hook: Any, **kwargs: Any) -> Any:
    return _hook(args, kwargs)


class Hook:
    """The original code of a function, and its replacements by argument types."""

    def __init__(self, function: types.FunctionType) -> None:
        self.signature = inspect.signature(function)
        self.names = list(self.signature.parameters)
        self.function = function
        self.explicit = function.__dict__.get("__signature__")
        self.original = types.FunctionType(
            function.__code__,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        self.original.__kwdefaults__ = function.__kwdefaults__
        self.targets: list[tuple[Mapping[int, Checker], Callable[..., Any]]] = []

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the target for these arguments, or else the function itself."""
        target = self.target_for(args, kwargs)
        return (self.original if target is None else target)(*args, **kwargs)

    def target_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Callable[..., Any] | None:
        """The target that these arguments are for.

        Raises:
            ValueError: several targets match.
        """
        chosen = None
        for checkers, target in self.targets:
            if target is not chosen and self._fits(checkers, args, kwargs):
                if chosen is not None:
                    raise ValueError(
                        f"{self.function.__name__}: several functions are registered for these "
                        f"arguments: {chosen!r} and {target!r}\n"
                        "  Try: experimental.unregister_dispatch_for(one of them)"
                    )
                chosen = target
        return chosen

    def _fits(
        self, checkers: Mapping[int, Checker], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> bool:
        asked = False
        for index, checker in checkers.items():
            if index < len(args):
                value = args[index]
            else:
                name = self.names[index]
                value = kwargs.get(name, self.signature.parameters[name].default)
            found = checker(value)
            if found is None:
                return False
            asked = asked or found
        return asked


def plain_function(function: Any) -> types.FunctionType | None:
    """The innermost function, which a hook can be put into; None if there is none."""
    inner = inspect.unwrap(function) if callable(function) else None
    return inner if isinstance(inner, types.FunctionType) else None


def hook_of(function: Any) -> Hook | None:
    """The hook of a function; None if it has none."""
    inner = plain_function(function)
    found = None if inner is None else (inner.__kwdefaults__ or {}).get("_hook")
    return found if isinstance(found, Hook) else None


def put_hook(function: types.FunctionType) -> Hook:
    """The hook of a plain function, which is installed if necessary."""
    with _lock:
        found = hook_of(function)
        if found is not None:
            return found
        hook = Hook(function)
        # In this order, for concurrent callers: the old code does not read the table.
        function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "_hook": hook}
        function.__signature__ = hook.signature  # type: ignore[attr-defined]
        # Code must be of as many free variables as the function has; this one uses none.
        free = function.__code__.co_freevars
        function.__code__ = _enter.__code__.replace(co_freevars=free, co_name=function.__name__)
        return hook


def remove_hook(hook: Hook) -> None:
    """Restore the function's own code."""
    with _lock:
        function = hook.function
        function.__code__ = hook.original.__code__
        function.__kwdefaults__ = hook.original.__kwdefaults__
        if hook.explicit is None:
            del function.__signature__  # type: ignore[attr-defined]
        else:
            function.__signature__ = hook.explicit  # type: ignore[attr-defined]
