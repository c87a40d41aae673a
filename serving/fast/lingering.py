"""Staying awake for a client that asks again as soon as it is answered."""

from __future__ import annotations

import asyncio
import os
import time

_NEAR_S = 0.0002


class Lingering:
    """Keeps the event loop looking for requests for a moment after a reply, where that is worth it.

    A core with nothing to do halts, and takes some 50 µs to wake on a virtual machine: a client
    that is alone waits for that at every request. If its last one came within 200 µs of the reply
    before, the loop waits as long for the next without sleeping. What that costs is about what
    halting and waking cost; a client that slows down costs it once. With one core nobody lingers:
    the client may need it.

    Args:
        cores: that this process may use; None asks the system.

    Attributes:
        is_awake: whether the loop is kept awake.
    """

    def __init__(self, cores: int | None = None) -> None:
        self.is_awake = False
        self._is_alone = (cores or _count_cores()) < 2
        self._answered_at = self._until = float("-inf")

    def note_reply(self, begun: float, now: float) -> None:
        """Linger after a reply that leaves no request unanswered, if the next is to be expected.

        Args:
            begun: when its request came, on `time.perf_counter`'s clock.
            now: on the same.
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
        # Each turn looks for what came, without waiting as long as something is to be called.
        self.is_awake = time.perf_counter() < self._until
        if self.is_awake:
            loop.call_soon(self._stay, loop)


def _count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
