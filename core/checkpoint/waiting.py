"""Iteration over new checkpoints as they appear: `checkpoints_iterator`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pinnace.checkpoint.state_file import latest_checkpoint

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

# How long to wait between two looks into the folder, in seconds.
_LOOK_S = 1.0


def checkpoints_iterator(
    checkpoint_dir: str | os.PathLike[str],
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """The newest checkpoint of a folder, and each that follows while one waits.

    Args:
        checkpoint_dir: the folder.
        min_interval_secs: seconds from one to the next, at least.
        timeout: seconds to wait for another; None waits without end.
        timeout_fn: called when the time is up; waiting ends if it gives True. Without it the first
            time that is up ends it.
    """
    last: str | None = None
    while True:
        found = _wait(checkpoint_dir, last, timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        began = time.monotonic()
        last = found
        yield found
        time.sleep(max(0.0, began + min_interval_secs - time.monotonic()))


def _wait(folder: str | os.PathLike[str], last: str | None, timeout: float | None) -> str | None:
    """The newest checkpoint once it differs from `last`; None after the timeout."""
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        found = latest_checkpoint(folder)
        if found is not None and found != last:
            return found
        left = _LOOK_S if until is None else until - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(_LOOK_S, left))
