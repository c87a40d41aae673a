"""Limits on connections before their request is known: their number, headers and time.

An HTTP parser reads until a request's headers are complete, before any key is checked. All of
uvicorn's protocol classes are limited here in the same way.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import orjson

from pinnace.serving.config.connections import most_connections

if TYPE_CHECKING:
    import asyncio

    from pinnace.serving.config.settings import Settings

MAX_HEADERS = 256  # of one request, including trailers
MAX_PIPELINED = 64  # requests received before the first of them is answered
_LOOK_S = 10.0  # between checks whether a client reads
_LEAST_READ_BYTES = 2**14  # between two checks
_LOOKED_AT = 256  # connections among which an idle one is searched
_IDLE_S = 1.0  # after which a connection may be closed for another one


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of the connections of one front.

    Attributes:
        header_bytes: bytes of one request's headers.
        header_s: longest time for these to arrive.
        connections: number of simultaneous connections.
    """

    header_bytes: int
    header_s: float
    connections: int


def bounds_of(settings: Settings) -> Bounds:
    """The limits in the settings."""
    most = most_connections(settings)
    return Bounds(settings.max_header_bytes, settings.header_timeout_s, most)


class Bounded:
    """A mixin that limits a connection of uvicorn's.

    A subclass calls `_await_head` when headers begin to arrive and `_end_head` when they are
    complete.
    """

    bounds: ClassVar[Bounds]
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    connections: set[Any]
    cycle: Any
    _late_head: asyncio.TimerHandle | None
    _unread: asyncio.TimerHandle | None
    _made_at: float

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._late_head = self._unread = None
        self._made_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Accept a client if there is room."""
        super().connection_made(transport)  # type: ignore[misc]  # uvicorn's method
        self._made_at = time.monotonic()
        if len(self.connections) > self.bounds.connections and not self._make_room():
            self.refuse(503, "The server has too many connections; try again later")
            return
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the client has left."""
        self._end_head()
        if self._unread is not None:
            self._unread.cancel()
        super().connection_lost(exc)  # type: ignore[misc]

    def pause_writing(self) -> None:
        """Watch a client that reads more slowly than data is written."""
        super().pause_writing()  # type: ignore[misc]
        if self._unread is None:
            self._watch_reading(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Note that the client has read the written data."""
        super().resume_writing()  # type: ignore[misc]
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def is_idle(self, now: float) -> bool:
        """Whether no request has been pending on the connection for some time.

        Args:
            now: the time on `time.monotonic`'s clock.
        """
        is_free = self.cycle is None or self.cycle.response_complete
        return is_free and now - self._made_at > _IDLE_S

    def refuse(self, status: int, message: str) -> None:
        """Reply without a complete request, and close."""
        body = orjson.dumps({"error": message})
        self.transport.write(
            b"HTTP/1.1 %d Refused\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"retry-after: 1\r\nconnection: close\r\n\r\n%b" % (status, len(body), body)
        )
        self.transport.close()

    def _make_room(self) -> bool:
        """Close an idle connection; whether there was one."""
        now = time.monotonic()
        for other in islice(self.connections, _LOOKED_AT):
            if other is not self and other.is_idle(now):
                other.transport.close()
                return True
        return False

    def _await_head(self) -> None:
        if self._late_head is None:
            self._late_head = self.loop.call_later(self.bounds.header_s, self._end_slow_head)

    def _end_head(self) -> None:
        if self._late_head is not None:
            self._late_head.cancel()
            self._late_head = None

    def _end_slow_head(self) -> None:
        self._late_head = None
        if not self.transport.is_closing():
            seconds = f"{self.bounds.header_s:g}"
            self.refuse(408, f"The headers of a request did not arrive within {seconds} s")

    def _watch_reading(self, before: int) -> None:
        """Close the connection if its client does not read the response."""

        def look() -> None:
            left = self.transport.get_write_buffer_size()
            if left > before - _LEAST_READ_BYTES:
                self.transport.abort()
            else:
                self._watch_reading(left)

        self._unread = self.loop.call_later(_LOOK_S, look)
