"""Tracebacks filtered to the user's lines, without the library's frames.

Entry points catch exceptions, filter their tracebacks, and raise them again.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

_OURS = ("pinnace", "malt")
_filtering = [True]


def enable_traceback_filtering() -> None:
    """Hide all frames of this library except entry points: the default."""
    _filtering[0] = True


def disable_traceback_filtering() -> None:
    """Show every frame from now on."""
    _filtering[0] = False


def is_traceback_filtering_enabled() -> bool:
    """Whether tracebacks are filtered."""
    return _filtering[0]


def cut(error: BaseException) -> None:
    """Remove the library's frames from the traceback of an error about to be raised again."""
    if not _filtering[0]:
        return
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        one.__traceback__ = _filtered(one.__traceback__)
        inner = one.__cause__ or one.__context__
        if (
            inner is one.__context__
            and inner is not None
            and _filtered(inner.__traceback__) is None
        ):
            one.__suppress_context__ = True  # it was raised and caught inside the library
        one = inner


def _filtered(trace: types.TracebackType | None) -> types.TracebackType | None:
    kept = []
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__") or ""
        if str(module).partition(".")[0] not in _OURS:
            kept.append(trace)
        trace = trace.tb_next
    found: types.TracebackType | None = None
    for part in reversed(kept):
        found = types.TracebackType(found, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return found


def entry(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator for public functions: errors inside show only the user's frames."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            cut(error)
            raise

    return called
