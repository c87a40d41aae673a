"""Limits on the time and memory of a run of a model.

Plans check between their steps and in each iteration of a loop whether their run was stopped; a
watching thread stops it when its time is up, or when its caller has left. Memory is counted where
arrays are allocated. A single long step is not interrupted.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from pinnace.engine import allocation
from pinnace.engine.allocation import bounded
from pinnace.framework.context import state
from pinnace.framework.errors import DeadlineExceededError, ResourceExhaustedError
from pinnace.ops.running import Stop
from pinnace.serving.config.memory_limits import data_limit, memory_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.serving.running.call import Call
    from pinnace.serving.running.signatures import Arrays

_clock = time.perf_counter  # a test's replacement of it must not affect the thread
_LOOKS = 10  # how often the watching thread checks during the time limit of a run
_SHORTEST_LOOK_S = 0.002
_LONGEST_LOOK_S = 0.02
_ALL_RUNS = 0.875  # of the memory; the rest is for requests and uncounted memory
# Under a limit on data, gRPC's C++ core, which allocates for messages unasked, ends the process.
_ALL_RUNS_OF_DATA = 0.625
_LOADING: ContextVar[int] = ContextVar("loading", default=0)  # limit in bytes meanwhile
_IDLE_S = 5.0  # idle time after which the watching thread ends


class _Asked(threading.local):
    """The callers that wait for this thread's run."""

    calls: Sequence[Call] = ()


ASKED = _Asked()


def share_memory() -> None:
    """Reserve a part of the memory that runs of this process cannot take."""
    allocation.limits.process_bytes = int(memory_limit() * _ALL_RUNS)
    allocation.limits.data_bytes = int(data_limit() * _ALL_RUNS_OF_DATA)


class RunLimits:
    """Limits of each run.

    Args:
        max_run_s: seconds; 0 for no limit.
        max_run_bytes: bytes of the arrays that a run creates; 0 for no limit.
    """

    def __init__(self, max_run_s: float, max_run_bytes: int) -> None:
        self._max_run_s = max_run_s
        self._max_run_bytes = max_run_bytes
        self._running: dict[Stop, tuple[float, Sequence[Call]]] = {}
        self._lock = threading.Lock()
        self._is_watched = False

    def no_longer_than(self, seconds: float) -> RunLimits:
        """Return these limits, with at most this many seconds."""
        shorter = min(seconds, self._max_run_s) if self._max_run_s else seconds
        return RunLimits(shorter, self._max_run_bytes)

    def guard(self, run: Callable[[Arrays], Arrays]) -> Callable[[Arrays], Arrays]:
        """Return the function with the limits enforced.

        Args:
            run: runs a signature.

        Returns:
            A function that raises DeadlineExceededError or ResourceExhaustedError beyond the
            limits, or `run` itself without limits.
        """
        if not self._max_run_s and not self._max_run_bytes:
            return run

        seconds, most_bytes, running = self._max_run_s, self._max_run_bytes, self._running

        def counted(feeds: Arrays) -> Arrays:
            with bounded(most_bytes):
                outputs = run(feeds)
            # A view of few elements is copied in full by its writer.
            size = sum([array.nbytes for array in outputs.values()])
            if size > most_bytes:
                raise ResourceExhaustedError(
                    f"the outputs of a run have {size} bytes, and a run may take {most_bytes} bytes"
                )
            return outputs

        bounded_run = counted if most_bytes else run

        def within(feeds: Arrays) -> Arrays:
            if not seconds:
                return bounded_run(feeds)
            stop = Stop()
            before, state.stop = state.stop, stop
            running[stop] = (_clock() + seconds, ASKED.calls)
            if not self._is_watched:
                self._watch()
            try:
                return bounded_run(feeds)
            finally:
                state.stop = before
                del running[stop]

        return within

    @contextmanager
    def while_loading(self) -> Iterator[None]:
        """A context in which code that a model runs on loading has the memory of one run."""
        token = _LOADING.set(self._max_run_bytes)
        try:
            yield
        finally:
            _LOADING.reset(token)

    def _watch(self) -> None:
        with self._lock:
            if self._is_watched:
                return
            self._is_watched = True
        threading.Thread(target=self._look, name="pinnace-limits", daemon=True).start()

    def _look(self) -> None:
        seconds = f"{self._max_run_s:g}"
        pause = min(max(self._max_run_s / _LOOKS, _SHORTEST_LOOK_S), _LONGEST_LOOK_S)
        used = _clock()
        while True:
            time.sleep(pause)
            now = _clock()
            for stop, (deadline, calls) in list(self._running.items()):
                used = now
                if stop.reason is not None:
                    continue
                if now >= deadline:
                    message = f"a run may take {seconds} s, and this one was not done"
                    stop.end(DeadlineExceededError(message))
                elif calls and all(call.is_over or call.deadline <= now for call in calls):
                    stop.end(DeadlineExceededError("all callers of the run have left"))
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


def loading_bytes() -> int:
    """The limit in bytes for code that a model runs while it is loaded; 0 for no limit."""
    return _LOADING.get()


NO_LIMITS = RunLimits(0, 0)
