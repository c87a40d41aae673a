"""The Open Inference Protocol's routes, with the extensions that Triton's clients use.

Source: docs/reference/serving_api.md 4.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import orjson
from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.serving.errors import in_triton_words
from pinnace.serving.http.bodies import exchange_response, json_response, read_body
from pinnace.serving.http.json_text import parse_json
from pinnace.serving.http.paths import Models, WhichModel
from pinnace.serving.models.metadata import main_signature
from pinnace.serving.models.model_configuration import read_configuration
from pinnace.serving.models.tables import Which
from pinnace.serving.models.version_statistics import stages, statistics_of
from pinnace.serving.models.versions import State
from pinnace.serving.requests.datatypes import datatype
from pinnace.serving.requests.infer_parameters import check_load, check_unload
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.config.settings import Settings
    from pinnace.serving.models.repository import Repository
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.requests.control import ModelControl
    from pinnace.serving.running.statistics import Duration

_MODEL = "/v2/models/{name:word}"
_VERSION = _MODEL + "/versions/{version:digits}"
_EXTENSIONS = (
    "binary_tensor_data",
    "model_repository",
    "model_configuration",
    "classification",
    "statistics",
)
_MEMORY = "system_shared_memory"
_MAX_CONTROL_BYTES = 2**20  # of a request to list, load or unload models
_VERSION_OF_PINNACE = version("pinnace")

router = APIRouter(tags=["Open Inference Protocol"])


async def _named(name: str) -> str:
    return name


ModelName: TypeAlias = Annotated[str, Depends(_named)]


@router.get("/v2")
async def server_metadata(request: Request) -> Response:
    """The metadata of this server: name, version, extensions."""
    settings: Settings = request.app.state.settings
    extensions = list(_EXTENSIONS)
    if settings.sequences.most:
        extensions.append("sequence")
    if settings.shared_memory:
        extensions.append(_MEMORY)
    document = {"name": "pinnace", "version": _VERSION_OF_PINNACE, "extensions": extensions}
    return json_response(orjson.dumps(document))


@router.get("/v2/health/live")
async def server_live() -> Response:
    """200 while the server responds."""
    return json_response(b'{"live":true}')


@router.get("/v2/health/ready")
async def server_ready(models: Models) -> Response:
    """200 if every model has a version that answers, else 503."""
    if models.is_ready():
        return json_response(b'{"ready":true}')
    return json_response(b'{"ready":false}', 503)


@router.get("/v2/models")
async def list_models(models: Models) -> Response:
    """The names of the models: KServe's list."""
    return json_response(orjson.dumps({"models": models.names()}))


# Before the routes of a model, whose name could be this word.
@router.get("/v2/models/stats")
async def all_statistics(models: Models) -> Response:
    """The counts and durations of the answers of all versions of all models, as Triton has them."""
    return _statistics(models, Which(""))


@router.get(_MODEL + "/ready")
@router.get(_VERSION + "/ready")
async def model_ready(models: Models, which: WhichModel) -> Response:
    """200 if the model is ready, 503 if it is not, 404 if it does not exist."""
    if which.name not in models:
        raise NotFoundError(f"Model '{which.name}' is not served")
    try:
        models.get(which)
        is_ready = not models.is_leaving
    except NotFoundError:
        is_ready = False
    document = orjson.dumps({"name": which.name, "ready": is_ready})
    return json_response(document, 200 if is_ready else 503)


@router.get(_MODEL)
@router.get(_VERSION)
async def model_metadata(models: Models, which: WhichModel) -> Response:
    """Names, datatypes and shapes of a model's inputs and outputs."""
    servable = _served(models, which)
    versions = sorted(
        status.version
        for status in models.status(Which(which.name))
        if status.state is State.AVAILABLE
    )
    name, signature = main_signature(servable)
    document: dict[str, object] = {
        "name": servable.name,
        "versions": [str(number) for number in versions],
        "platform": servable.model.platform,
        "inputs": _describe(signature.inputs),
        "outputs": _describe(signature.outputs),
    }
    if name != DEFAULT_SIGNATURE:
        document["parameters"] = {"signature_name": name}
    return json_response(orjson.dumps(document))


@router.post(_MODEL + "/infer")
@router.post(_VERSION + "/infer")
async def infer(request: Request, which: WhichModel) -> Response:
    """Run one signature: tensors in JSON, as bytes after a JSON header, or both."""
    return await exchange_response(request, request.app.state.infer, which)


@router.get(_MODEL + "/config")
@router.get(_VERSION + "/config")
async def model_config(models: Models, which: WhichModel) -> Response:
    """The model as Triton's configuration would have it."""
    found = read_configuration(_served(models, which))
    document = {
        "name": found.name,
        "platform": found.platform,
        "backend": "pinnace",
        "max_batch_size": found.max_batch_size,
        "input": list(map(asdict, found.inputs)),
        "output": list(map(asdict, found.outputs)),
    }
    if found.sequence_idle_us:
        idle = {"max_sequence_idle_microseconds": found.sequence_idle_us}
        document["sequence_batching"] = idle
    return json_response(orjson.dumps(document))


@router.get(_MODEL + "/stats")
@router.get(_VERSION + "/stats")
async def model_statistics(models: Models, which: WhichModel) -> Response:
    """The same for one model or version."""
    return _statistics(models, which)


@router.post("/v2/repository/index")
async def repository_index(request: Request, models: Models) -> Response:
    """Every version of every model, with its state; with `ready`, only ready ones."""
    asked = await _document(request)
    only_ready = asked.get("ready", False)
    if not isinstance(only_ready, bool):
        raise InvalidArgumentError("'ready' must be true or false")
    if asked.get("repository_name"):
        raise InvalidArgumentError("'repository_name' must be empty: there is one repository")
    rows = []
    for name in models.names():
        for status in models.all_statuses(name):
            is_ready = status.state is State.AVAILABLE
            if only_ready and not is_ready:
                continue
            rows.append(
                {
                    "name": name,
                    "version": str(status.version),
                    "state": "READY" if is_ready else "UNAVAILABLE",
                    "reason": status.message,
                }
            )
    return json_response(orjson.dumps(rows))


async def _controlled(request: Request) -> None:
    """Check that the request may change the served models."""
    control: ModelControl = request.app.state.exchange.control
    control.check(dict(request.headers.raw))


@router.post(
    "/v2/repository/models/{name:word}/load",
    dependencies=[Depends(_controlled)],
    response_class=Response,
)
async def load_model(request: Request, models: Models, name: ModelName) -> Response:
    """Serve an unloaded model again, or look for new versions of one that is served."""
    check_load(_parameters(await _document(request)))
    await asyncio.to_thread(models.load, name)
    return Response()


@router.post(
    "/v2/repository/models/{name:word}/unload",
    dependencies=[Depends(_controlled)],
    response_class=Response,
)
async def unload_model(request: Request, models: Models, name: ModelName) -> Response:
    """Stop serving a model until it is loaded again."""
    check_unload(_parameters(await _document(request)))
    await asyncio.to_thread(models.unload, name)
    return Response()


def _describe(specs: Mapping[str, TensorSpec]) -> list[dict[str, object]]:
    return [
        {"name": name, "datatype": datatype(spec.dtype), "shape": _sizes(spec)}
        for name, spec in specs.items()
    ]


def _served(models: Repository, which: Which) -> Servable:
    try:
        return models.get(which)
    except NotFoundError as error:
        raise in_triton_words(error) from None


async def _document(request: Request) -> dict[str, Any]:
    """The JSON object of a request's body; empty if there is no body."""
    settings: Settings = request.app.state.settings
    body = await read_body(request, _MAX_CONTROL_BYTES, settings.body_timeout_s)
    document = parse_json(body) if body.strip() else {}
    if not isinstance(document, dict):
        raise InvalidArgumentError("the request must be a JSON object")
    return document


def _parameters(document: Mapping[str, Any]) -> dict[str, Any]:
    parameters = document.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise InvalidArgumentError("'parameters' must be an object")
    return parameters


def _statistics(models: Repository, which: Which) -> Response:
    rows = []
    for servable in statistics_of(models, which):
        counted = servable.statistics
        rows.append(
            {
                "name": servable.name,
                "version": str(servable.version),
                "last_inference": round(counted.last_at * 1e3),
                "inference_count": counted.rows,
                "execution_count": counted.runs,
                "inference_stats": {
                    stage: _duration(duration) for stage, duration in stages(counted).items()
                },
                "batch_stats": [
                    {"batch_size": size, "compute_infer": _duration(duration)}
                    for size, duration in sorted(counted.batches.items())
                ],
            }
        )
    return json_response(orjson.dumps({"model_stats": rows}))


def _duration(duration: Duration) -> dict[str, int]:
    return {"count": duration.count, "ns": duration.ns}


def _sizes(spec: TensorSpec) -> list[int]:
    return [-1 if size is None else size for size in spec.shape.dims or ()]
