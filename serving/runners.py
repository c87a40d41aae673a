"""The threads of one loaded version, in which runs go on that are too long for the event loop."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TURN_S = 0.0002


@contextmanager
def quick_turns() -> Iterator[None]:
    """Let a thread whose run is over have the interpreter soon, as long as the process serves.

    The event loop holds it while many requests come in one turn. Python lets others wait for 5 ms,
    in which a core could have run half a batch.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _TURN_S))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Runners:
    """Threads that are made when they are needed. Any thread may ask.

    Args:
        name: of the threads.
        count: how many.
    """

    def __init__(self, name: str, count: int) -> None:
        self.count = count
        self._name = name
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._is_closed = False
        self._asked = self._begun = 0

    @property
    def is_asked(self) -> bool:
        """Whether work waits for a thread: whoever has one is to give it back."""
        return self._asked > self._begun

    def start(self, work: Callable[[], None]) -> None:
        """Do it in a thread, as soon as one is free.

        Raises:
            RuntimeError: the interpreter ends.
        """

        def begin() -> None:
            with self._lock:
                self._begun += 1
            work()

        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.count, self._name)
            pool = self._pool
            if self._is_closed:  # a late caller of a version that was replaced: its own threads
                self._pool = None
            pool.submit(begin)
            self._asked += 1

    def close(self) -> None:
        """Give the threads back when they are done."""
        with self._lock:
            self._is_closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)
