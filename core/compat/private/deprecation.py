"""Decorators for deprecated functions and arguments: calls continue, with a DeprecationWarning.

TensorFlow logs a line instead; `warnings` can be silenced and redirected by the usual means.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Decorator = Callable[[Any], Any]


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Decorator:
    """A decorator of a deprecated function or class.

    Args:
        date: when it goes; None if that is not known.
        instructions: the replacement to use.
        warn_once: has no effect: Python's filters decide.
    """
    del warn_once

    def decorate(decorated: Any) -> Any:
        text = f"{decorated.__qualname__} is deprecated{_until(date)}: {instructions}"
        if not isinstance(decorated, type):
            return _warning(decorated, lambda _: text)
        kind: Any = decorated
        kind.__init__ = _warning(kind.__init__, lambda _: text)
        return kind

    return decorate


def deprecated_args(
    date: str | None, instructions: str, *names: str | tuple[str, Any], warn_once: bool = True
) -> Decorator:
    """A decorator of a function with deprecated arguments.

    Args:
        date: when they go; None if that is not known.
        instructions: the replacement to use.
        *names: names of the arguments; a value that needs no warning may be given with a name.
        warn_once: has no effect: Python's filters decide.
    """
    del warn_once
    quiet = dict(name if isinstance(name, tuple) else (name, inspect) for name in names)

    def decorate(function: Any) -> Any:
        def told(named: dict[str, Any]) -> str | None:
            given = [k for k, v in named.items() if k in quiet and v is not quiet[k]]
            return _of_arguments(function, given, date, instructions) if given else None

        return _warning(function, told)

    return decorate


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **values: Any
) -> Decorator:
    """A decorator of a function with deprecated argument values.

    Args:
        date: when they go; None if that is not known.
        instructions: the replacement to use.
        warn_once: has no effect: Python's filters decide.
        **values: argument -> the value that goes.
    """
    del warn_once

    def decorate(function: Any) -> Any:
        def told(named: dict[str, Any]) -> str | None:
            given = [k for k, v in named.items() if k in values and v is values[k]]
            return _of_arguments(function, given, date, instructions) if given else None

        return _warning(function, told)

    return decorate


def deprecated_alias(
    deprecated_name: str, name: str, func_or_class: Any, warn_once: bool = True
) -> Any:
    """The function or class under a deprecated name.

    Args:
        deprecated_name: the deprecated name.
        name: the one to use.
        func_or_class: the function or class that has it.
        warn_once: has no effect: Python's filters decide.
    """
    del warn_once
    text = f"{deprecated_name} is deprecated. Please use {name} instead."
    if not isinstance(func_or_class, type):
        return _warning(func_or_class, lambda _: text)
    first = func_or_class.__init__  # type: ignore[misc]
    inside = {"__doc__": func_or_class.__doc__, "__init__": _warning(first, lambda _: text)}
    return type(func_or_class.__name__, (func_or_class,), inside)


def deprecated_endpoints(*names: str) -> Decorator:
    """A decorator without effect; in TensorFlow it lists deprecated public names."""
    del names
    return lambda decorated: decorated


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value of an argument that has two names.

    Raises:
        ValueError: both were given.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return old_value


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Suppress deprecation warnings in the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def _until(date: str | None) -> str:
    return "" if date is None else f" and will be removed after {date}"


def _of_arguments(function: Any, given: list[str], date: str | None, instructions: str) -> str:
    return f"{function.__qualname__}: {', '.join(given)} deprecated{_until(date)}: {instructions}"


def _warning(function: Any, told: Callable[[dict[str, Any]], str | None]) -> Any:
    """The function, preceded by a warning if `told` has one for its arguments."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def warned(*arguments: Any, **named: Any) -> Any:
        try:
            text = told(dict(signature.bind(*arguments, **named).arguments))
        except TypeError:
            text = None  # the call itself says what is wrong
        if text is not None:
            warnings.warn(text, DeprecationWarning, stacklevel=2)
        return function(*arguments, **named)

    return warned


__all__ = [
    "deprecated",
    "deprecated_alias",
    "deprecated_arg_values",
    "deprecated_args",
    "deprecated_argument_lookup",
    "deprecated_endpoints",
    "silence",
]
