"""Work that may never end, with a time limit."""

from __future__ import annotations

import threading
import time
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from pinnace.framework.context import state
from pinnace.framework.errors import DeadlineExceededError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.ops.running import Stop

T = TypeVar("T")

_GRACE_S = 2.0  # in which ended work should return
_LOOK_S = 0.1  # between checks whether it was ended


def done_within(work: Callable[[], T], seconds: float, what: str, stop: Stop) -> T:
    """Return the result of some work, done in a thread of its own.

    Args:
        work: the work; runs of models in it are ended when its time is over.
        seconds: the time limit.
        what: the description of the work in the error.
        stop: a handle with which another thread may end it.

    Raises:
        DeadlineExceededError: the work took longer. If it does not end even then, its thread is
            left behind.
        Exception: another thread ended it; the reason that it gave.
    """
    outcome: list[T] = []
    problem: list[BaseException] = []

    def begin() -> None:
        state.stop = stop
        try:
            outcome.append(work())
        except BaseException as error:  # passed on to the waiting thread
            problem.append(error)

    thread = threading.Thread(
        target=copy_context().run, args=(begin,), name="pinnace-load", daemon=True
    )
    thread.start()
    end = time.monotonic() + seconds
    while thread.is_alive() and stop.reason is None and (left := end - time.monotonic()) > 0:
        thread.join(min(left, _LOOK_S))
    if thread.is_alive():
        reason = stop.reason or DeadlineExceededError(f"{what} within {seconds:g} s")
        stop.end(reason)
        thread.join(_GRACE_S)
        raise reason
    if problem:
        raise problem[0]
    return outcome[0]
