"""The threads of one loaded version, for runs that are too long for the event loop."""

from __future__ import annotations

import sys
import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pinnace.serving.errors import LOG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TURN_S = 0.0002


@contextmanager
def quick_turns() -> Iterator[None]:
    """Shorten the interpreter's switch interval while the process serves.

    The event loop holds the GIL while it handles many requests in one iteration. By default Python
    lets other threads wait for 5 ms, in which a core could run half a batch.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _TURN_S))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class RunThreads:
    """Threads that are started on demand. Any thread may use this.

    The process does not wait for them when it exits, since one may be in a kernel that never ends.

    Args:
        name: the threads' name.
        count: the number of threads.
    """

    def __init__(self, name: str, count: int) -> None:
        self.count = count
        self._name = name
        self._changed = threading.Condition(threading.Lock())
        self._waiting: deque[Callable[[], object]] = deque()
        self._alive = self._idle = self._made = self._lost = 0
        self._is_closed = False

    @property
    def is_asked(self) -> bool:
        """Whether tasks wait for a thread, so that idle threads should be returned."""
        return bool(self._waiting)

    @property
    def lost(self) -> int:
        """The number of threads that count as hung."""
        return self._lost

    def start(self, work: Callable[[], object]) -> None:
        """Run a task in a thread, as soon as one is free.

        Raises:
            RuntimeError: the interpreter is shutting down, or the system has no more threads.
        """
        with self._changed:
            self._waiting.append(work)
            self._see_to_it()

    def lose(self, most: int) -> bool:
        """Allow a replacement for a thread that hangs.

        Args:
            most: limit of lost threads.

        Returns:
            False if the limit is reached.
        """
        with self._changed:
            if self._lost >= most:
                return False
            self._lost += 1
            self._see_to_it()
            return True

    def regain(self) -> None:
        """Note that a thread that counted as hung has returned."""
        with self._changed:
            self._lost -= 1

    def close(self) -> None:
        """End the threads when they have finished."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _see_to_it(self) -> None:
        """Start or wake a thread for the waiting tasks, if one is needed."""
        if not self._waiting:
            return
        if self._idle >= len(self._waiting):
            self._changed.notify()
            return
        if self._alive >= self.count + self._lost:
            return
        self._made += 1
        name = f"{self._name}_{self._made}"
        try:
            threading.Thread(target=self._live, name=name, daemon=True).start()
        except RuntimeError:
            if not self._alive:  # the task would never run
                self._waiting.pop()
                raise
        else:
            self._alive += 1

    def _live(self) -> None:
        while True:
            work = self._next()
            if work is None:
                return
            try:
                work()
            except BaseException:
                LOG.exception("%s failed", self._name)

    def _next(self) -> Callable[[], object] | None:
        """Return the next task of a thread; None if the thread is to end."""
        with self._changed:
            while not self._waiting:
                # Another thread may have replaced it while it hung.
                if self._is_closed or self._alive > self.count + self._lost:
                    self._alive -= 1
                    return None
                self._idle += 1
                self._changed.wait()
                self._idle -= 1
            return self._waiting.popleft()
