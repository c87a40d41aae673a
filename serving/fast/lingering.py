"""Keeps the event loop polling for a client that sends its next request at once."""

from __future__ import annotations

import asyncio
import os
import time

_NEAR_S = 0.0002


class Lingering:
    """Keeps the event loop polling for requests for a moment after a reply, if that pays off.

    An idle core halts, and takes some 50 µs to wake on a virtual machine, for which a single client
    waits at every request. If its last request came within 200 µs of the previous reply, the loop
    polls for as long for the next one without sleeping. The cost is about that of halting and
    waking; a client that slows down incurs it once. With one core there is no polling, since the
    client may need the core.

    Args:
        cores: the number of cores for this process; None asks the system.

    Attributes:
        is_awake: whether the loop is kept awake.
    """

    def __init__(self, cores: int | None = None) -> None:
        self.is_awake = False
        self._is_alone = (cores or _count_cores()) < 2
        self._answered_at = self._until = float("-inf")

    def note_reply(self, begun: float, now: float) -> None:
        """Poll after a reply that leaves no request pending, if the next one is expected.

        Args:
            begun: the arrival of its request, on `time.perf_counter`'s clock.
            now: the current time on that clock.
        """
        is_near = begun - self._answered_at < _NEAR_S
        self._answered_at = now
        if not is_near or self._is_alone:
            return
        self._until = now + _NEAR_S
        if not self.is_awake:
            self.is_awake = True
            loop = asyncio.get_running_loop()
            loop.call_soon(self._stay, loop)

    def _stay(self, loop: asyncio.AbstractEventLoop) -> None:
        # Each iteration polls without waiting as long as a callback is scheduled.
        self.is_awake = time.perf_counter() < self._until
        if self.is_awake:
            loop.call_soon(self._stay, loop)


def _count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
