"""Waiting for conditions: tests poll instead of sleeping for a fixed time."""

import asyncio
import time
from collections.abc import Callable

_PAUSE_S = 0.002


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """Return once the condition holds; AssertionError if it does not in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(_PAUSE_S)


async def until_in_loop(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """The same, while the event loop keeps running."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(_PAUSE_S)
