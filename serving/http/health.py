"""Liveness, readiness, and metrics for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from pinnace.framework.errors import NotFoundError
from pinnace.serving.http.bodies import json_response
from pinnace.serving.http.paths import Models

router = APIRouter(tags=["Health"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def live() -> Response:
    """200 while the server responds."""
    return json_response(b'{"live":true}')


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz")
async def ready(models: Models, model: str = "") -> Response:
    """200 if every model, or the named one, is ready, else 503; also 503 during the shutdown."""
    if model and model not in models:
        raise NotFoundError(f"Model '{model[:200]}' is not served")
    if models.is_ready_for(model) if model else models.is_ready():
        return json_response(b'{"ready":true}')
    return json_response(b'{"ready":false}', 503)


async def metrics(request: Request) -> Response:
    """Counters and histograms in Prometheus's text format."""
    return Response(request.app.state.metrics.text(), media_type=CONTENT_TYPE_LATEST)
