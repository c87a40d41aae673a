"""Time limits of one verification run, in pinnace and in ONNX Runtime.

A model is run on drawn inputs: a loop whose end depends on them may never terminate.
"""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from pinnace.framework.context import state
from pinnace.framework.errors import DeadlineExceededError
from pinnace.framework.tensor import Array
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


def run_within(session: Any, feeds: Mapping[str, Array], limit_s: float) -> list[Any]:
    """Run a session of ONNX Runtime within a time limit.

    Raises:
        DeadlineExceededError: the time was over.
    """
    import onnxruntime

    options = onnxruntime.RunOptions()
    over = threading.Event()

    def end() -> None:
        over.set()
        options.terminate = True

    timer = threading.Timer(limit_s, end)
    timer.daemon = True
    timer.start()
    try:
        return list(session.run(None, feeds, options))
    except Exception as error:
        if not over.is_set():
            raise
        raise DeadlineExceededError(
            f"export: ONNX Runtime was not done after {limit_s:g} s\n"
            "  Try: export(..., sample={name: array, ...}) with inputs that take less, or a larger "
            "verify_timeout_s"
        ) from error
    finally:
        timer.cancel()
