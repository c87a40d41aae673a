"""SIGTERM as an exception, so that commands clean up on exit."""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

_AGAIN_S = 0.01  # delay after an exception that Python swallowed
_HAS_TIMERS = hasattr(signal, "setitimer")  # not on Windows, which has no SIGTERM either


@contextlib.contextmanager
def sigterm_raises() -> Iterator[None]:
    """Let SIGTERM raise `SystemExit(143)` in the main thread; no effect in other threads.

    If the signal arrives during a `__del__` or a C callback, Python swallows the exception: it is
    then raised again a moment later.

    Source:
        Shells report a process that a signal ended as 128 + the signal's number.
    """
    try:
        before = signal.signal(signal.SIGTERM, _terminate)
    except ValueError:  # not the main thread, where signals are handled
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
    """SystemExit caused by a signal, a class of its own to distinguish it from the user's exits."""


def _terminate(number: int, frame: object) -> NoReturn:
    del number, frame
    raise _Terminated(128 + signal.SIGTERM)
