"""The threads of one loaded version, in which runs go on that are too long for the event loop."""

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
    """Let a thread whose run is over have the interpreter soon, as long as the process serves.

    The event loop holds it while many requests come in one iteration. Python lets others wait for
    5 ms, in which a core could have run half a batch.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _TURN_S))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class RunThreads:
    """Threads that are made when they are needed. Any thread may ask.

    Nobody waits for them when the process ends: one may be in a kernel that never does.

    Args:
        name: of the threads.
        count: how many.
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
        """Whether work waits for a thread: idle holders should return theirs."""
        return bool(self._waiting)

    @property
    def lost(self) -> int:
        """Threads that do not come back from a run, as far as is known."""
        return self._lost

    def start(self, work: Callable[[], object]) -> None:
        """Do it in a thread, as soon as one is free.

        Raises:
            RuntimeError: the interpreter ends, or the system gives no more threads.
        """
        with self._changed:
            self._waiting.append(work)
            self._see_to_it()

    def lose(self, most: int) -> bool:
        """Let another thread take the place of one that does not come back.

        Args:
            most: threads that may be lost.

        Returns:
            False if so many are.
        """
        with self._changed:
            if self._lost >= most:
                return False
            self._lost += 1
            self._see_to_it()
            return True

    def regain(self) -> None:
        """A thread that was lost came back."""
        with self._changed:
            self._lost -= 1

    def close(self) -> None:
        """Give the threads back when they are done."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _see_to_it(self) -> None:
        """Have a thread take what waits, if it waits for one."""
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
            if not self._alive:  # it would never run
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
        """The next task of a thread; None if it is to end."""
        with self._changed:
            while not self._waiting:
                # Somebody may have taken its place while it was lost.
                if self._is_closed or self._alive > self.count + self._lost:
                    self._alive -= 1
                    return None
                self._idle += 1
                self._changed.wait()
                self._idle -= 1
            return self._waiting.popleft()
