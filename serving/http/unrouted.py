"""Requests without a route, refused before the routes are tried one by one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.requests import Request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Receive, Scope, Send

_GROUP = re.compile(r"\(\?P<\w+>")


class Unrouted:
    """Refuses requests without a route with the application's reply, but at less cost.

    Args:
        app: the application for all other requests.
        routes: its routes, in order.
        refuse: returns the reply to a request without a route.
    """

    def __init__(
        self,
        app: ASGIApp,
        routes: Iterable[Route],
        refuse: Callable[[Request, Exception], Awaitable[Response]],
    ) -> None:
        self._app = app
        self._refuse = refuse
        self._routes = [(route.path_regex, route.methods or {"GET"}) for route in routes]
        methods = {method for _, methods in self._routes for method in methods}
        self._taken = {
            method: re.compile(
                "|".join(
                    _GROUP.sub("(?:", path.pattern)
                    for path, methods in self._routes
                    if method in methods
                )
            )
            for method in methods
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, if there is a route for it."""
        if scope["type"] == "http" and not scope.get("root_path"):
            taken = self._taken.get(scope["method"])
            if taken is None or taken.match(scope["path"]) is None:
                response = await self._refuse(Request(scope), self._reason(scope["path"]))
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _reason(self, path: str) -> HTTPException:
        for regex, methods in self._routes:
            if regex.match(path) is not None:
                return HTTPException(405, headers={"Allow": ", ".join(methods)})
        return HTTPException(404)
