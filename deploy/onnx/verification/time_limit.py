"""The time limit of a run in ONNX Runtime; `deploy/program/deadlines.py` has pinnace's."""

import threading
from collections.abc import Mapping
from typing import Any

from pinnace.framework.errors import DeadlineExceededError
from pinnace.framework.tensor import Array


def run_within(session: Any, feeds: Mapping[str, Array], limit_s: float) -> list[Any]:
    """Run a session of ONNX Runtime within a time limit.

    Raises:
        DeadlineExceededError: the time is over.
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
            f"export: ONNX Runtime did not finish within {limit_s:g} s\n"
            "  Try: export(..., sample={name: array, ...}) with smaller inputs, or a larger "
            "verify_timeout_s"
        ) from error
    finally:
        timer.cancel()
