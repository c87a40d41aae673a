"""SIGTERM as an exception: what a command has begun is taken back on the way out."""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

_AGAIN_S = 0.01  # after an exception that Python swallowed
_HAS_TIMERS = hasattr(signal, "setitimer")  # Windows has none, and ends processes without a signal


@contextlib.contextmanager
def sigterm_raises() -> Iterator[None]:
    """Inside, SIGTERM raises `SystemExit(143)` in the main thread; elsewhere nothing changes.

    A signal that comes while a `__del__` or a callback of C runs raises there, and Python swallows
    the exception: then it is raised again, a moment later.

    Source:
        128 + the signal's number is how shells tell that a signal ended a process.
    """
    try:
        before = signal.signal(signal.SIGTERM, _terminate)
    except ValueError:  # not the main thread, which alone hears of signals
        yield
        return
    hook = sys.unraisablehook

    def unraisable(swallowed: sys.UnraisableHookArgs) -> None:
        if swallowed.exc_type is _Terminated and _HAS_TIMERS:
            signal.signal(signal.SIGALRM, _terminate)
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
        else:
            hook(swallowed)

    sys.unraisablehook = unraisable
    try:
        yield
    finally:
        if _HAS_TIMERS:
            signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = hook
        signal.signal(signal.SIGTERM, before)


class _Terminated(SystemExit):
    """As SystemExit; a class of its own tells it from those of the user's code."""


def _terminate(number: int, frame: object) -> NoReturn:
    del number, frame
    raise _Terminated(128 + signal.SIGTERM)
