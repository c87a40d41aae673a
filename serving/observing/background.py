"""Work that no request waits for: a bounded queue, and a thread that consumes it."""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING, Generic, TypeVar

from pinnace.serving.errors import LOG, one_line

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_MOST = 10_000  # waiting items; further ones are dropped
_BATCH = 500
_COMPLAIN_S = 60.0


class Background(Generic[T]):
    """Passes items to a function, in a thread, several at a time.

    Errors of the function are logged, once a minute, and have no other effect.

    Args:
        name: the name for the log.
        consume: called with at least one item.
        most: limit of waiting items.
        most_bytes: limit of the bytes of waiting items; 0 for no limit.
        idle: called about once a second while there are no items.
    """

    def __init__(
        self,
        name: str,
        consume: Callable[[list[T]], None],
        *,
        most: int = _MOST,
        most_bytes: int = 0,
        idle: Callable[[], None] | None = None,
    ) -> None:
        self._name = name
        self._consume = consume
        self._idle = idle
        self._most = most
        self._most_bytes = most_bytes or 2**62
        self._queue: queue.SimpleQueue[tuple[T, int] | None] = queue.SimpleQueue()
        self._bytes_in = 0  # written by the event loop's thread only
        self._bytes_out = 0  # written by the queue's thread only
        self._complained = -_COMPLAIN_S
        self.dropped = 0
        self._thread = threading.Thread(target=self._work, name=f"pinnace-{name}", daemon=True)
        self._thread.start()

    def put(self, thing: T, size: int = 0) -> bool:
        """Queue an item for the thread, or drop it if the queue is full. For one thread only.

        Args:
            thing: the item.
            size: bytes that it keeps in memory.

        Returns:
            Whether it was queued.
        """
        waiting = self._bytes_in - self._bytes_out
        if self._queue.qsize() >= self._most or waiting + size > self._most_bytes:
            self.dropped += 1
            return False
        self._bytes_in += size
        self._queue.put((thing, size))
        return True

    def close(self) -> None:
        """Wait until all queued items are consumed."""
        self._queue.put(None)
        self._thread.join(timeout=10)

    def _work(self) -> None:
        is_open = True
        while is_open:
            things: list[T] = []
            try:
                first = self._queue.get(timeout=1.0)
            except queue.Empty:
                self._guarded(self._idle)
                continue
            size = 0
            while True:
                if first is None:
                    is_open = False
                    break
                things.append(first[0])
                size += first[1]
                if len(things) >= _BATCH or self._queue.empty():
                    break
                first = self._queue.get()
            if things:
                self._guarded(lambda things=things: self._consume(things))  # type: ignore[misc]
            self._bytes_out += size

    def _guarded(self, work: Callable[[], None] | None) -> None:
        if work is None:
            return
        try:
            work()
        except Exception as error:  # no error may stop the server
            if time.monotonic() - self._complained >= _COMPLAIN_S:
                self._complained = time.monotonic()
                LOG.error("%s: %s", self._name, one_line(error))
