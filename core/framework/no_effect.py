"""Warnings, once each, about arguments of TensorFlow or Keras without effect here.

A test checks every public function: an unused parameter must be reported here, or listed in the
test's table with the reason.
"""

from __future__ import annotations

import sys
import warnings

_told: set[tuple[str, str]] = set()
_PACKAGE = __name__.partition(".")[0]


def no_effect(who: str, argument: str, why: str) -> None:
    """Warn once about an argument without effect.

    Args:
        who: the class or function.
        argument: its name.
        why: the reason.
    """
    if (who, argument) in _told:
        return
    _told.add((who, argument))
    message = f"{who}: {argument} has no effect: {why}"
    warnings.warn(message, UserWarning, stacklevel=_callers_level())


def ignored(who: str, why: str, /, default: object = None, **given: object) -> None:
    """Warn once about each of these arguments that differs from its default.

    Args:
        who: the class or function that takes them.
        why: the reason.
        default: the value of an argument that was not given.
        **given: the arguments by name.
    """
    for name, value in given.items():
        if value is not default and not (type(value) is type(default) and value == default):
            no_effect(who, name, why)


def _callers_level() -> int:
    """The stack level of the first caller outside this package, for `no_effect`."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        if name != _PACKAGE and not name.startswith(f"{_PACKAGE}."):
            break
        frame, level = frame.f_back, level + 1
    return level
