"""The ASGI application of a service: its routes and error handlers."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pinnace.framework.errors import INTERNAL, OpError
from pinnace.serving import acceleration
from pinnace.serving.errors import LOG, canonical_code
from pinnace.serving.http import health, openinference, shared_memory, tfserving
from pinnace.serving.http.bodies import error_reply, error_response
from pinnace.serving.http.guards import Guarded, Packed, metrics_paths, open_paths
from pinnace.serving.http.paths import FoldedPaths
from pinnace.serving.http.platforms import platform_routes
from pinnace.serving.http.unrouted import Unrouted
from pinnace.serving.observing.access_log import Logged
from pinnace.serving.service import Service
from pinnace.serving.web import routes as web
from pinnace.serving.web.description import Description
from pinnace.serving.web.graphs import Pictures

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from pinnace.serving.config.settings import Settings
    from pinnace.serving.models.repository import Repository
    from pinnace.serving.observing.metrics import Metrics
    from pinnace.serving.service import Front

_CORS_HEADERS = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"POST, GET"),
    (b"access-control-allow-headers", b"Content-Type"),
)
_CORS_HEADERS_WITH_KEYS = (
    *_CORS_HEADERS[:2],
    (b"access-control-allow-headers", b"Content-Type, Authorization, X-API-Key"),
)


def create_app(
    settings: Settings,
    repository: Repository,
    fronts: Sequence[Front] = (),
    metrics: Metrics | None = None,
) -> FastAPI:
    """Return the application that answers for these models; its lifespan loads them first.

    Args:
        settings: limits and times.
        repository: the models; the lifespan calls its `start` and `close`.
        fronts: other fronts, open while the application runs.
        metrics: the metrics; None creates them for this application alone.

    Raises:
        OpError: the keys cannot be read, or a log cannot be written.
    """
    return application(Service(settings, repository, fronts, metrics))


def application(service: Service) -> FastAPI:
    """Return the routes of a service; the application's lifespan is the service's."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with service.running():
            yield

    app = FastAPI(
        title="pinnace",
        description="SavedModels that answer.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's pages load scripts from the internet
        redoc_url=None,
        openapi_url=None,  # `web` writes one with the models
        redirect_slashes=False,
    )
    settings, keys = service.settings, service.keys
    app.state.settings = settings
    app.state.repository = service.repository
    app.state.metrics = service.metrics
    app.state.history = service.history
    app.state.exchange = service.exchange
    app.state.predict = acceleration.predict_wire()
    app.state.infer = acceleration.infer_wire()
    app.state.shadow_report = service.shadow_report
    app.state.description = Description(service.repository, keys is not None)
    app.state.pictures = Pictures()
    platforms = platform_routes(settings)
    routers = (
        tfserving.router,
        openinference.router,
        shared_memory.router,
        health.router,
        web.router,
        platforms,
    )
    for router in routers:
        app.include_router(router)
    for path in metrics_paths(settings.metrics_path):
        app.get(path, tags=["Health"], response_class=PlainTextResponse)(health.metrics)
    app.add_exception_handler(OpError, _answer_error)
    app.add_exception_handler(MemoryError, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_no_route)
    app.add_middleware(UnexpectedErrors)
    routes = [route for router in (*routers, app.router) for route in router.routes]
    app.add_middleware(
        Unrouted,
        routes=[route for route in routes if isinstance(route, Route)],
        refuse=_answer_no_route,
    )
    app.add_middleware(FoldedPaths)
    if keys is not None:
        free = open_paths(
            settings.health_without_key,
            settings.health_route,
            settings.metrics_path if settings.metrics_without_key else "",
        )
        app.add_middleware(Guarded, keys=keys, open_paths=free)
    if settings.gzip:
        app.add_middleware(Packed)
    if settings.cors:
        headers = _CORS_HEADERS if keys is None else _CORS_HEADERS_WITH_KEYS
        app.add_middleware(OpenOrigins, headers=headers)
    if service.log is not None:
        app.add_middleware(Logged, log=service.log)
    return app


class UnexpectedErrors:
    """Answers 500 for unhandled exceptions of a model; the log gets the traceback.

    Args:
        app: the application.
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
    """Adds CORS headers that allow requests from any page.

    Args:
        app: the application.
        headers: the headers to add.
    """

    def __init__(self, app: ASGIApp, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        self._app = app
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""

        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *self._headers]}
            await send(message)

        await self._app(scope, receive, add if scope["type"] == "http" else send)


async def _answer_error(request: Request, error: Exception) -> Response:
    if canonical_code(error) == INTERNAL:
        LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return error_response(error)


async def _answer_invalid(_: Request, error: Exception) -> Response:
    return error_reply(f"Invalid request: {error}", 400)


async def _answer_no_route(request: Request, error: Exception) -> Response:
    """No route, or another method: within `/v1/` TensorFlow Serving answers 400 for both."""
    path = request.url.path
    if path.lower().startswith("/v1/"):
        return error_reply(f"Malformed request: {request.method} {path}", 400)
    if isinstance(error, HTTPException) and error.status_code != 404:
        return error_reply(
            f"{error.detail}: {request.method} {path}", error.status_code, error.headers
        )
    return error_reply(f"Not found: {request.method} {path}", 404)
