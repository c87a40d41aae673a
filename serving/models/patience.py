"""Work that may never end, waited for with a deadline."""

from __future__ import annotations

import threading
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from pinnace.framework.context import state
from pinnace.framework.errors import DeadlineExceededError
from pinnace.ops.running import Stop

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_GRACE_S = 2.0  # in which work that is told to end should


def done_within(work: Callable[[], T], seconds: float, what: str) -> T:
    """The result of some work that is done in a thread of its own.

    Args:
        work: to do. Runs of models in it are told to end when time is over.
        seconds: that it may take.
        what: is said of it when it takes longer.

    Raises:
        DeadlineExceededError: it takes longer. If it does not end even then, its thread stays
            behind.
    """
    stop = Stop()
    outcome: list[T] = []
    problem: list[BaseException] = []

    def begin() -> None:
        state.stop = stop
        try:
            outcome.append(work())
        except BaseException as error:  # the waiting thread gets it
            problem.append(error)

    thread = threading.Thread(
        target=copy_context().run, args=(begin,), name="pinnace-load", daemon=True
    )
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        reason = DeadlineExceededError(f"{what} within {seconds:g} s")
        stop.end(reason)
        thread.join(_GRACE_S)
        raise reason
    if problem:
        raise problem[0]
    return outcome[0]
