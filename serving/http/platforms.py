"""The routes of managed platforms: SageMaker's, and those named by Vertex AI's variables.

A predict request of such a platform names no model: it is for the only one that is served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.http.bodies import exchange_response
from pinnace.serving.http.health import ready
from pinnace.serving.http.paths import Models
from pinnace.serving.models.tables import Which

if TYPE_CHECKING:
    from pinnace.serving.config.settings import Settings

PING = "/ping"
_INVOCATIONS = "/invocations"


async def predict_only(request: Request, models: Models) -> Response:
    """Run the only model on a batch; body and answer are those of TensorFlow Serving's predict."""
    names = models.names()
    if len(names) != 1:
        raise InvalidArgumentError(
            f"{request.url.path} asks the only model, and {len(names)} are served: "
            f"ask /v1/models/{names[0] if names else 'NAME'}:predict"
        )
    return await exchange_response(request, request.app.state.predict, Which(names[0]))


async def ping(models: Models) -> Response:
    """200 if every model has a version that answers, else 503."""
    return await ready(models)


def platform_routes(settings: Settings) -> APIRouter:
    """The platforms' routes, including those that the settings name."""
    router = APIRouter(tags=["Platforms"])
    for path in dict.fromkeys((PING, settings.health_route)):
        if path:
            router.get(path)(ping)
    for path in dict.fromkeys((_INVOCATIONS, settings.predict_route)):
        if path:
            router.post(path)(predict_only)
    return router
