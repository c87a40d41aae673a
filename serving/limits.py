"""How long a run of a model may take, and how much memory.

Plans look between their steps and at each turn of a loop whether their run is to end; a thread says
so when time is over. Memory is counted where arrays are made. A single step that takes long is not
interrupted.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

from pinnace.engine.allocation import bounded
from pinnace.framework.context import state
from pinnace.framework.errors import DeadlineExceededError
from pinnace.ops.running import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.serving.servable import Arrays

_LOOKS = 10  # that the watching thread takes in the time of a run
_SHORTEST_LOOK_S = 0.002
_IDLE_S = 5.0  # after which the watching thread ends


class RunLimits:
    """Limits of each run.

    Args:
        max_run_s: seconds; 0 for no limit.
        max_run_bytes: of the arrays that a run makes; 0 for no limit.
    """

    def __init__(self, max_run_s: float, max_run_bytes: int) -> None:
        self._max_run_s = max_run_s
        self._max_run_bytes = max_run_bytes
        self._running: dict[Stop, float] = {}
        self._lock = threading.Lock()
        self._is_watched = False

    def guard(self, run: Callable[[Arrays], Arrays]) -> Callable[[Arrays], Arrays]:
        """A function that does the same within the limits.

        Args:
            run: of a signature.

        Returns:
            A function that raises DeadlineExceededError or ResourceExhaustedError beyond them, or
            `run` itself if there are none.
        """
        if not self._max_run_s and not self._max_run_bytes:
            return run

        def within(feeds: Arrays) -> Arrays:
            with contextlib.ExitStack() as stack:
                if self._max_run_s:
                    stack.enter_context(self._timed())
                if self._max_run_bytes:
                    stack.enter_context(bounded(self._max_run_bytes))
                return run(feeds)

        return within

    @contextlib.contextmanager
    def _timed(self) -> Iterator[None]:
        stop = Stop()
        before, state.stop = state.stop, stop
        self._running[stop] = time.monotonic() + self._max_run_s
        if not self._is_watched:
            self._watch()
        try:
            yield
        finally:
            state.stop = before
            del self._running[stop]

    def _watch(self) -> None:
        with self._lock:
            if self._is_watched:
                return
            self._is_watched = True
        threading.Thread(target=self._look, name="pinnace-limits", daemon=True).start()

    def _look(self) -> None:
        seconds = f"{self._max_run_s:g}"
        pause = max(self._max_run_s / _LOOKS, _SHORTEST_LOOK_S)
        used = time.monotonic()
        while True:
            time.sleep(pause)
            now = time.monotonic()
            for stop, deadline in list(self._running.items()):
                used = now
                if now >= deadline and stop.reason is None:
                    message = f"a run may take {seconds} s, and this one was not done"
                    stop.end(DeadlineExceededError(message))
            if now - used > _IDLE_S:
                with self._lock:
                    self._is_watched = False
                if not self._running:
                    return
                # A run began just now, and may have seen that it was watched.
                with self._lock:
                    if self._is_watched:
                        return
                    self._is_watched = True
                used = now
