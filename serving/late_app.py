"""The application, made when it is first needed: the hot routes answer before it is imported.

FastAPI and what it imports take longer than everything else that a small model needs to answer. The
service's own life needs none of it, so the server is ready first. The application is made in a
thread: by the first request that needs it, or a moment after the start, when whoever waited at the
door has been answered.
"""

from __future__ import annotations

import asyncio
import traceback
from typing import TYPE_CHECKING

from pinnace.serving.errors import LOG

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from pinnace.serving.service import Service

_DELAY_S = 1.0


class LateApplication:
    """An ASGI application with the service's life, and its routes once they are asked for.

    Args:
        service: that answers.
        delay_s: from the start until the routes are made without being asked for.
    """

    def __init__(self, service: Service, delay_s: float = _DELAY_S) -> None:
        self._service = service
        self._delay_s = delay_s
        self._making: asyncio.Future[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or live."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        # A client that goes away must not take the application with it.
        app = await asyncio.shield(self._make())
        await app(scope, receive, send)

    def _make(self) -> asyncio.Future[ASGIApp]:
        if self._making is None:
            loop = asyncio.get_running_loop()
            self._making = loop.run_in_executor(None, _make_routes, self._service)
        return self._making

    def _make_early(self) -> None:
        self._make().add_done_callback(_report)

    async def _live(self, receive: Receive, send: Send) -> None:
        """ASGI's lifespan protocol."""
        started = False
        await receive()
        try:
            async with self._service.running():
                await send({"type": "lifespan.startup.complete"})
                started = True
                loop = asyncio.get_running_loop()
                timer = loop.call_later(self._delay_s, self._make_early)
                try:
                    await receive()
                finally:
                    timer.cancel()
        except BaseException:
            kind = "shutdown" if started else "startup"
            await send({"type": f"lifespan.{kind}.failed", "message": traceback.format_exc()})
            raise
        await send({"type": "lifespan.shutdown.complete"})


def _make_routes(service: Service) -> ASGIApp:
    from pinnace.serving.app import application

    return application(service)


def _report(made: asyncio.Future[ASGIApp]) -> None:
    if not made.cancelled() and made.exception() is not None:
        LOG.error("the routes besides inference cannot be made", exc_info=made.exception())
