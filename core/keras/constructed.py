"""Constructed: objects with keyword arguments, whose errors suggest the closest argument."""

from __future__ import annotations

import inspect
from typing import Any, Self

from pinnace.framework.close_names import did_you_mean


class Constructed:
    """The base of losses, metrics and the like: errors of misspelt arguments suggest a name."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Check the names of keyword arguments before `__init__` does."""
        if cls.__init__ is object.__init__:
            if args or kwargs:
                raise TypeError(f"{cls.__name__}() takes no arguments")
        elif kwargs:
            _check_names(cls, kwargs)
        return super().__new__(cls)


def _check_names(cls: type, kwargs: dict[str, Any]) -> None:
    """Check that a constructor accepts these names, if it lists them.

    Raises:
        TypeError: a name that it does not take.
    """
    known: list[str] = []
    for parameter in list(inspect.signature(cls.__init__).parameters.values())[1:]:  # type: ignore[misc]  # as it is called
        if parameter.kind is parameter.VAR_KEYWORD:
            options = _options(cls, parameter.annotation)
            if options is None:
                return
            known.extend(options)
        else:
            known.append(parameter.name)
    for name in kwargs:
        if name not in known:
            raise TypeError(
                f"{cls.__name__}.__init__() got an unexpected keyword argument {name!r}"
                f"{did_you_mean(name, known)}"
            )


def _options(cls: type, annotation: Any) -> list[str] | None:
    """The names in `**options: Unpack[Options]`; None if any name is accepted."""
    kind, _, options = str(annotation).rstrip("]").partition("[")
    if kind != "Unpack":
        return None
    known = cls.__init__.__globals__[options].__annotations__  # type: ignore[misc]  # as it is called
    return list(known)
