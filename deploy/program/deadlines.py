"""Time limits of a verification run in pinnace.

On random inputs, a loop whose end depends on the inputs may never terminate.
"""

import contextlib
import threading
from collections.abc import Iterator

from pinnace.framework.context import state
from pinnace.framework.errors import DeadlineExceededError
from pinnace.ops.running import Stop

# The first limit for runs on random inputs; it doubles after each run that exceeds it.
FIRST_S = 4.0


@contextlib.contextmanager
def ended_after(limit_s: float) -> Iterator[None]:
    """Let runs of pinnace inside raise DeadlineExceededError once the time is over."""
    stop = Stop()
    reason = DeadlineExceededError(f"export: the model did not finish within {limit_s:g} s")
    timer = threading.Timer(limit_s, stop.end, [reason])
    timer.daemon = True
    before, state.stop = state.stop, stop
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        state.stop = before
