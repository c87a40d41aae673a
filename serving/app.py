"""The ASGI application: routes, errors and lifespan put together."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from pinnace.framework.errors import INTERNAL, OpError
from pinnace.serving.errors import LOG, canonical_code
from pinnace.serving.exchange import Exchange
from pinnace.serving.http import health, openinference, tfserving
from pinnace.serving.http.bodies import error_reply, error_response
from pinnace.serving.http.paths import FoldedPaths
from pinnace.serving.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from pinnace.serving.repository import Repository
    from pinnace.serving.settings import Settings

Front: TypeAlias = "Callable[[Exchange], AbstractAsyncContextManager[object]]"

_CORS_HEADERS = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"POST, GET"),
    (b"access-control-allow-headers", b"Content-Type"),
)


def create_app(settings: Settings, repository: Repository, fronts: Sequence[Front] = ()) -> FastAPI:
    """The application that answers for these models; its lifespan loads them first.

    Args:
        settings: limits and times.
        repository: of the models; `start` and `close` are called here.
        fronts: other ways in, open as long as the application runs.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(repository.start)
        try:
            async with AsyncExitStack() as stack:
                for front in fronts:
                    await stack.enter_async_context(front(app.state.exchange))
                yield
        finally:
            await asyncio.to_thread(repository.close)

    app = FastAPI(
        title="pinnace",
        description="SavedModels that answer.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's pages load scripts from the internet
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.settings = settings
    app.state.repository = repository
    metrics = Metrics(lambda name: name in repository)
    app.state.metrics = metrics
    app.state.exchange = Exchange(settings, repository, metrics)
    app.include_router(tfserving.router)
    app.include_router(openinference.router)
    app.include_router(health.router)
    if settings.metrics_path:
        app.get(settings.metrics_path, tags=["Health"])(health.metrics)
    app.add_exception_handler(OpError, _answer_error)
    app.add_exception_handler(MemoryError, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_no_route)
    app.add_middleware(UnexpectedErrors)
    app.add_middleware(FoldedPaths)
    if settings.cors:
        app.add_middleware(OpenOrigins)
    return app


class UnexpectedErrors:
    """Answers 500 for what a model raised and nobody foresaw; the log gets the traceback.

    Args:
        app: that may raise.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        begun = False

        async def watch(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except Exception as error:
            if scope["type"] != "http" or begun:
                raise
            LOG.exception("%s %s failed", scope["method"], scope["path"])
            await error_response(error)(scope, receive, send)


class OpenOrigins:
    """Adds the CORS headers with which any page may ask.

    Args:
        app: whose replies get them.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""

        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_CORS_HEADERS]}
            await send(message)

        await self._app(scope, receive, add if scope["type"] == "http" else send)


async def _answer_error(request: Request, error: Exception) -> Response:
    if canonical_code(error) == INTERNAL:
        LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return error_response(error)


async def _answer_invalid(_: Request, error: Exception) -> Response:
    return error_reply(f"Invalid request: {error}", 400)


async def _answer_no_route(request: Request, error: Exception) -> Response:
    """No route, or not by this method: TensorFlow Serving answers 400 for both within `/v1/`."""
    path = request.url.path
    if path.lower().startswith("/v1/"):
        return error_reply(f"Malformed request: {request.method} {path}", 400)
    if isinstance(error, HTTPException) and error.status_code != 404:
        return error_reply(
            f"{error.detail}: {request.method} {path}", error.status_code, error.headers
        )
    return error_reply(f"Not found: {request.method} {path}", 404)
