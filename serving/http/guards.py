"""Middleware around the application: API keys for every route, and compressed replies."""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING

from pinnace.framework.errors import UnauthenticatedError
from pinnace.serving.http.bodies import error_response
from pinnace.serving.requests.policies import accepts
from pinnace.serving.web.routes import OPEN_PATHS

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from pinnace.serving.requests.policies import ApiKeys

_HEALTH = frozenset({"/healthz", "/readyz", "/ping", "/v2/health/live", "/v2/health/ready"})
_METRICS = "/metrics"
_LEAST_BYTES = 512  # below it compression gains nothing
_THREAD_BYTES = 2**16  # above it compression would block the event loop for too long
_LEVEL = 5
_FORMATS = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


class Guarded:
    """Refuses requests without an API key, on every route but the open ones.

    Args:
        app: the guarded application.
        keys: the API keys.
        open_paths: the paths that need no key.
    """

    def __init__(self, app: ASGIApp, keys: ApiKeys, open_paths: frozenset[str]) -> None:
        self._app = app
        self._keys = keys
        self._open = open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, if it has a key."""
        # Browsers send OPTIONS requests without the headers of the later request.
        if (
            scope["type"] == "http"
            and scope["path"] not in self._open
            and scope["method"] != "OPTIONS"
        ):
            try:
                self._keys.check(dict(scope["headers"]))
            except UnauthenticatedError as error:
                await error_response(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def metrics_paths(metrics_path: str) -> tuple[str, ...]:
    """The paths of metrics: the configured one, and Prometheus' default; or none."""
    return tuple(dict.fromkeys((metrics_path, _METRICS))) if metrics_path else ()


def open_paths(health: bool, health_route: str, metrics_path: str) -> frozenset[str]:
    """Return the paths that need no key, including the files of the page.

    Args:
        health: whether health checks need no key.
        health_route: a platform's health route; may be empty.
        metrics_path: the path of metrics, if they need no key; else empty.
    """
    found = {*OPEN_PATHS, *metrics_paths(metrics_path)}
    if health:
        found |= {*_HEALTH, *filter(None, (health_route,))}
    return frozenset(found)


class Packed:
    """Compresses replies for clients that accept it.

    Args:
        app: the application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        encoding = accepts(dict(scope["headers"])) if scope["type"] == "http" else ""
        if not encoding:
            await self._app(scope, receive, send)
            return
        start: Message | None = None

        async def pack(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            if start is None:
                await send(message)
                return
            begun, start = start, None
            body = message.get("body", b"")
            names = {name.lower() for name, _ in begun["headers"]}
            if (
                len(body) >= _LEAST_BYTES
                and not message.get("more_body")
                and b"content-encoding" not in names
            ):
                is_long = len(body) > _THREAD_BYTES
                body = (
                    await asyncio.to_thread(_pack, body, encoding)
                    if is_long
                    else _pack(body, encoding)
                )
                kept = [pair for pair in begun["headers"] if pair[0].lower() != b"content-length"]
                kept += [
                    (b"content-length", str(len(body)).encode()),
                    (b"content-encoding", encoding.encode()),
                    (b"vary", b"Accept-Encoding"),
                ]
                begun = {**begun, "headers": kept}
                message = {**message, "body": body}
            await send(begun)
            await send(message)

        await self._app(scope, receive, pack)


def _pack(body: bytes, encoding: str) -> bytes:
    stream = zlib.compressobj(_LEVEL, wbits=_FORMATS[encoding])
    return stream.compress(body) + stream.flush()
