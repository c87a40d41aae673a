"""Time limits of one verification run in pinnace.

A model is run on drawn inputs: a loop whose end depends on them may never terminate.
"""

import contextlib
import threading
from collections.abc import Iterator

from pinnace.framework.context import state
from pinnace.framework.errors import DeadlineExceededError
from pinnace.ops.running import Stop

# Inputs that were drawn get this long first, and twice as long after each time that was too short.
FIRST_S = 4.0


@contextlib.contextmanager
def ended_after(limit_s: float) -> Iterator[None]:
    """Runs of pinnace inside raise DeadlineExceededError once the time is over."""
    stop = Stop()
    reason = DeadlineExceededError(f"export: the model was not done after {limit_s:g} s")
    timer = threading.Timer(limit_s, stop.end, [reason])
    timer.daemon = True
    before, state.stop = state.stop, stop
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        state.stop = before
