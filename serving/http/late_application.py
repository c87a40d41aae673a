"""The FastAPI application, created on first use: hot routes answer before it is imported.

Importing FastAPI takes longer than everything else that a small model needs. The service's own
lifespan needs none of it, so the server is ready first. The application is created in a thread: by
the first request that needs it, or shortly after the start. If that fails, for example without a
free file descriptor, it is tried again; until then its requests get an error, and liveness requests
are answered here.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from typing import TYPE_CHECKING

from pinnace.framework.errors import UnavailableError
from pinnace.serving.errors import LOG, one_line
from pinnace.serving.http.replies import JSON, refusal
from pinnace.serving.requests.reply import Reply

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from pinnace.serving.service import Service

_DELAY_S = 1.0
_RETRY_S = 1.0
_LIFE = frozenset({"/healthz", "/v2/health/live"})


class LateApplication:
    """An ASGI application with the service's lifespan, whose routes are created on demand.

    Args:
        service: the service that answers.
        delay_s: seconds from the start until the routes are created without a request.
    """

    def __init__(self, service: Service, delay_s: float = _DELAY_S) -> None:
        self._service = service
        self._delay_s = delay_s
        self._making: asyncio.Future[ASGIApp] | None = None
        self._again_at = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or live."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        try:
            # A client that leaves must not cancel the creation.
            app = await asyncio.shield(self._make())
        except Exception as error:
            await _answer_without(scope, send, error)
            return
        await app(scope, receive, send)

    def _make(self) -> asyncio.Future[ASGIApp]:
        made = self._making
        if made is not None and made.done() and not made.cancelled() and made.exception():
            if time.monotonic() < self._again_at:
                return made
            made = None
        if made is None:
            self._again_at = time.monotonic() + _RETRY_S
            loop = asyncio.get_running_loop()
            made = self._making = loop.run_in_executor(None, _make_routes, self._service)
            made.add_done_callback(_report)
        return made

    async def _live(self, receive: Receive, send: Send) -> None:
        """ASGI's lifespan protocol."""
        started = False
        await receive()
        try:
            async with self._service.running():
                await send({"type": "lifespan.startup.complete"})
                started = True
                loop = asyncio.get_running_loop()
                timer = loop.call_later(self._delay_s, self._make)
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
    from pinnace.serving.http.application import application

    return application(service)


async def _answer_without(scope: Scope, send: Send, error: Exception) -> None:
    if scope["type"] != "http":
        raise error
    lives = scope["path"] in _LIFE
    problem = UnavailableError(f"This route cannot be made now: {one_line(error)}; try again later")
    reply = Reply(b'{"live":true}', 200, (JSON,)) if lives else refusal(problem)
    headers = [*reply.headers, (b"content-length", str(len(reply.body)).encode())]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


def _report(made: asyncio.Future[ASGIApp]) -> None:
    if not made.cancelled() and made.exception() is not None:
        LOG.error(
            "the routes besides inference cannot be made, which is tried again: %s",
            one_line(made.exception() or RuntimeError()),
        )
