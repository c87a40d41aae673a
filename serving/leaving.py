"""Graceful shutdown: first readiness fails, then requests in flight are completed.

A load balancer learns from readiness that a server shuts down, with a delay: Kubernetes sends
requests for seconds after its signal. So the ports stay open for a while in which every HTTP
response closes its connection, and gRPC's connections end by their maximum age (see `listening`):
clients reconnect to another server.
"""

from __future__ import annotations

import asyncio
import signal
import time
from typing import TYPE_CHECKING, Any

import uvicorn

from pinnace.serving.errors import LOG

if TYPE_CHECKING:
    from types import FrameType

    from pinnace.serving.service import Service

_CLOSE = (b"connection", b"close")


class LeavingServer(uvicorn.Server):
    """An HTTP server that continues for some time after SIGTERM.

    The first signal starts the shutdown: SIGINT at once, SIGTERM after the drain time. The second
    drops the remaining requests. Workers do not count signals, since a terminal or a service
    manager may signal all processes as well as their supervisor, which calls `hurry` of each.

    Args:
        config: uvicorn's.
        service: the service that answers, whose gRPC ports close with the server.
        is_worker: whether a supervisor runs it.
    """

    def __init__(self, config: uvicorn.Config, service: Service, *, is_worker: bool) -> None:
        super().__init__(config)
        self._service = service
        self._is_worker = is_worker
        self._leave_at: float | None = None
        self._signal = 0  # the first one, until it is logged
        self._is_told = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        del frame
        drain_s = self._service.settings.drain_s if sig == signal.SIGTERM else 0.0
        if self._leave_at is None:
            self._leave_at = time.monotonic() + drain_s
            self._signal = sig
            self._service.repository.is_leaving = True
            self.should_exit = not drain_s
        elif self._is_worker:
            if sig == signal.SIGINT:
                self.should_exit = True
        else:
            self.hurry()

    def hurry(self) -> None:
        """End now, dropping pending requests. Callable from any thread."""
        self.should_exit = self.force_exit = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cut)

    async def on_tick(self, counter: int) -> bool:
        """Check, ten times a second, whether it is time to shut down."""
        is_over = await super().on_tick(counter)
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        if self._leave_at is None:
            return is_over
        self._announce_end()
        return is_over or time.monotonic() >= self._leave_at

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        """Close the ports, complete the requests in flight, and end the service."""
        self._service.repository.is_leaving = True
        self._announce_end()
        waiting = self._service.exchange.in_flight
        LOG.info("the server ends; requests to answer first: %d", waiting)
        await super().shutdown(sockets)
        if self.force_exit:  # otherwise uvicorn has done it
            await self.lifespan.shutdown()
        LOG.info("the server has ended")

    def _announce_end(self) -> None:
        """Have every reply close its connection, also those to requests before the signal."""
        if self._signal:  # not in the signal handler, which may interrupt another log line
            name, self._signal = signal.Signals(self._signal).name, 0
            LOG.info("%s came", name)
        state = self.server_state
        if _CLOSE in state.default_headers:  # uvicorn renews the list each second, for the date
            return
        if not self._is_told and not self.should_exit:
            self._is_told = True
            LOG.info("the server leaves in %g s", self._service.settings.drain_s)
        state.default_headers = [*state.default_headers, _CLOSE]
        for connection in list(state.connections):
            cycle = getattr(connection, "cycle", None)
            if cycle is not None and not cycle.response_complete:
                cycle.keep_alive = False
                if _CLOSE not in cycle.default_headers:  # uvicorn before 0.54 does not add it
                    cycle.default_headers = [*cycle.default_headers, _CLOSE]

    def _cut(self) -> None:
        self._service.exchange.hurry.set()
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
