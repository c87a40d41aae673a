"""The order in which models are loaded: one after another, except for slow ones."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinnace.framework.errors import UnavailableError
from pinnace.ops.running import Stop
from pinnace.serving.errors import LOG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Loads that others may pass. More would take threads and memory for models that never answer.
_MOST_SLOW = 8


@dataclass(slots=True)
class _Task:
    """A waiting task."""

    name: str
    work: Callable[[], None]
    future: Future[None] = field(default_factory=Future)


@dataclass(slots=True)
class _Load:
    """A version that a model is loading."""

    stop: Stop
    begun: float


class LoadQueue:
    """Runs one task at a time, and those of one model in order, in separate threads.

    A slow load yields to the next model, so that a load that never ends blocks no other.

    Args:
        slow_after_s: seconds after which other loads may pass a load.
    """

    def __init__(self, slow_after_s: float) -> None:
        self._slow_after_s = slow_after_s
        self._lock = threading.Lock()
        self._waiting: list[_Task] = []
        self._busy: set[str] = set()
        self._slow: set[str] = set()
        self._loads: dict[str, _Load] = {}
        self._ending: UnavailableError | None = None

    def add(self, name: str, work: Callable[[], None]) -> Future[None]:
        """Queue a task for a model.

        Args:
            name: the model's name.
            work: the task.

        Returns:
            A future of the task; UnavailableError if the server ends before it runs.
        """
        task = _Task(name, work)
        with self._lock:
            if self._ending is not None:
                task.future.set_exception(self._ending)
                return task.future
            self._waiting.append(task)
            self._give_turn()
        return task.future

    def is_pending(self, name: str) -> bool:
        """Whether a task of a model is running or waiting."""
        with self._lock:
            return name in self._busy or any(task.name == name for task in self._waiting)

    def is_loading_for(self, name: str, seconds: float) -> bool:
        """Whether a model's current load has taken this long already."""
        with self._lock:
            load = self._loads.get(name)
        return load is not None and time.monotonic() - load.begun >= seconds

    @contextmanager
    def loading(self, name: str, where: str) -> Iterator[Stop]:
        """A context in which a task loads a version, which may take long.

        Args:
            name: the task's model.
            where: the version's path, for the log.

        Returns:
            A handle that ends the run of code within the context.
        """
        load = _Load(Stop(), time.monotonic())
        timer = threading.Timer(self._slow_after_s, self._pass, (name, where))
        timer.daemon = True
        with self._lock:
            self._loads[name] = load
            if self._ending is not None:
                load.stop.end(self._ending)
        timer.start()
        try:
            yield load.stop
        finally:
            timer.cancel()
            with self._lock:
                del self._loads[name]

    def end(self, name: str, reason: Exception) -> None:
        """Cancel a model's current load."""
        with self._lock:
            load = self._loads.get(name)
        if load is not None:
            load.stop.end(reason)

    def close(self) -> None:
        """Cancel all loads, and run no more tasks."""
        with self._lock:
            self._ending = UnavailableError("the server is shutting down, and loads no more models")
            waiting, self._waiting = self._waiting, []
            names = list(self._loads)
        for task in waiting:
            task.future.set_exception(self._ending)
        for name in names:
            self.end(name, self._ending)

    def _pass(self, name: str, where: str) -> None:
        with self._lock:
            if name not in self._loads:
                return  # it has just ended
            self._slow.add(name)
            self._give_turn()
        LOG.warning(
            "%s has been loading for %g s; other models are loaded meanwhile",
            where,
            self._slow_after_s,
        )

    def _give_turn(self) -> None:
        """Start the next task in a thread, if none is running."""
        task = self._next()
        if task is not None:
            threading.Thread(
                target=self._work, args=(task,), name="pinnace-loads", daemon=True
            ).start()

    def _next(self) -> _Task | None:
        if len(self._busy) > min(len(self._slow), _MOST_SLOW):
            return None
        for place, task in enumerate(self._waiting):
            if task.name not in self._busy:
                self._busy.add(task.name)
                return self._waiting.pop(place)
        return None

    def _work(self, task: _Task | None) -> None:
        while task is not None:
            problem: BaseException | None = None
            try:
                task.work()
            except BaseException as error:  # passed on to the waiting thread
                problem = error
            with self._lock:
                self._busy.discard(task.name)
                self._slow.discard(task.name)
                following = self._next()
            if problem is None:
                task.future.set_result(None)
            else:
                task.future.set_exception(problem)
            task = following
