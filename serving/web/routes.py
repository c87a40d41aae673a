"""The page's routes: `/`, `/docs`, `/openapi.json`, and their JSON and files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from pinnace.framework.errors import NotFoundError
from pinnace.serving.http.bodies import VERSION_HEADER, json_response
from pinnace.serving.http.paths import Models, WhichModel
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE
from pinnace.serving.web.files import STATIC, file_response

if TYPE_CHECKING:
    from pinnace.serving.observing.history import History
    from pinnace.serving.web.description import Description
    from pinnace.serving.web.graphs import Pictures

# Files without data of the models, which need no key: they ask for it.
OPEN_PATHS = frozenset({"/", "/docs", *(f"/page/{name}" for name in STATIC)})

_MODEL = "/v1/models/{name:word}"
_VERSION = _MODEL + "/versions/{version:digits}"
_NO_STORE = {"Cache-Control": "no-store"}
# A picture has its own script, which may run but not connect anywhere.
_PICTURE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts"
)

router = APIRouter(tags=["Page"])


@router.head("/", include_in_schema=False)
@router.get("/", include_in_schema=False)
async def home(request: Request) -> Response:
    """The page for browsers; for programs the server's liveness, as in KServe v1."""
    if "text/html" in request.headers.get("accept", ""):
        return file_response(request, "page.html")
    return json_response(b'{"status":"alive"}')


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    """The page that documents the server's endpoints."""
    return file_response(request, "docs.html")


@router.get("/page/models", include_in_schema=False)
async def models_json(request: Request, models: Models) -> Response:
    """The models for the page."""
    from pinnace.serving.web.overview import models_overview

    state = request.app.state
    overview = models_overview(models, state.settings, state.shadow_report)
    document = {"models": overview, "ready": models.is_ready()}
    return json_response(orjson.dumps(document), headers=_NO_STORE)


@router.get("/page/numbers", include_in_schema=False)
async def numbers_json(request: Request) -> Response:
    """The numbers that the page plots: counts and histograms since the start."""
    from pinnace.serving.web.overview import numbers

    state = request.app.state
    state.history.watch(time.monotonic())
    document = numbers(state.metrics.collect())
    return json_response(orjson.dumps(document), headers=_NO_STORE)


@router.get("/page/history", include_in_schema=False)
async def history_json(request: Request, model: str = "") -> Response:
    """The steps of the last hour, which the page plots for the time before it was opened."""
    now = time.monotonic()
    history: History = request.app.state.history
    history.watch(now)
    points = [
        [now - point.time, point.rate, point.median, point.most, point.rows]
        for point in history.of(model, now)
    ]
    return json_response(orjson.dumps({"points": points}), headers=_NO_STORE)


@router.get("/page/{file}", include_in_schema=False)
async def static_file(request: Request) -> Response:
    """A script, style sheet or icon."""
    name = request.path_params["file"]
    if name not in STATIC:
        raise NotFoundError(f"Not found: GET {request.url.path}")
    return file_response(request, name)


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> Response:
    """The OpenAPI document of the server, with each model's own signatures."""
    description: Description = request.app.state.description
    return json_response(description.text(request.app), headers={"Cache-Control": "no-cache"})


@router.get(_MODEL + "/graph", include_in_schema=False)
@router.get(_VERSION + "/graph", include_in_schema=False)
async def graph(
    request: Request, models: Models, which: WhichModel, signature: str = DEFAULT_SIGNATURE
) -> Response:
    """A self-contained page that shows a signature's graph."""
    servable = models.get(which)
    pictures: Pictures = request.app.state.pictures
    page = await pictures.page(servable, signature)
    headers = {
        VERSION_HEADER: str(servable.version),
        "Content-Security-Policy": _PICTURE_POLICY,
        "X-Content-Type-Options": "nosniff",
    }
    return Response(page, headers=headers, media_type="text/html")
