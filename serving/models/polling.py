"""Work that is repeated, each time in a thread of its own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pinnace.serving.errors import LOG

if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE_S = 10.0  # for a poll whose peer does not answer


class Timer:
    """Repeats some work at an interval, until it is stopped.

    Args:
        name: the thread's name.
        every_s: seconds from the end of one poll to the next; 0 or less disables it.
        work: the work. Its errors are logged, and it is repeated.
    """

    def __init__(self, name: str, every_s: float, work: Callable[[], None]) -> None:
        self._name = name
        self._every_s = every_s
        self._work = work
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        if every_s > 0:
            self._thread = threading.Thread(target=self._run, name=f"pinnace-{name}", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Start no further poll, and wait a while for a running one."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        while not self._stopped.wait(self._every_s):
            try:
                self._work()
            except Exception:  # the thread must survive unexpected errors
                LOG.exception("%s: looking for changes failed; trying again", self._name)
