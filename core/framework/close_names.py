"""Suggestions for unknown names."""

from __future__ import annotations

import difflib
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A line for error messages with the most similar known name; empty if none is similar.

    Args:
        name: the given name.
        names: the known names.
    """
    lower = {known.lower(): known for known in sorted(names)}
    close = difflib.get_close_matches(name.lower(), lower, n=1)
    return f"\n  Did you mean {lower[close[0]]!r}?" if close else ""


def unknown_arguments(who: str, unknown: Iterable[str], known: Iterable[str]) -> str:
    """The message for unknown arguments, with the closest known name.

    Args:
        who: name of the called function.
        unknown: the names that it does not take, at least one.
        known: the accepted ones.
    """
    names = sorted(unknown)
    return f"{who}: unknown arguments {', '.join(names)}{did_you_mean(names[0], known)}"


def arguments_of(function: Callable[..., Any]) -> list[str]:
    """The names of a function's arguments, without `*args` and `**kwargs`."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind not in {p.VAR_KEYWORD, p.VAR_POSITIONAL}]
