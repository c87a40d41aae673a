"""The Open Inference Protocol's routes, with the extensions that Triton's clients use.

Source: docs/reference/serving_api.md 4.
"""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, TypeAlias

import orjson
from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from pinnace.framework.errors import NotFoundError
from pinnace.serving.http.bodies import exchange_response, json_response
from pinnace.serving.http.paths import Models, WhichModel
from pinnace.serving.models.metadata import main_signature
from pinnace.serving.models.tables import Which
from pinnace.serving.models.versions import State
from pinnace.serving.requests.datatypes import datatype
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.requests.control import ModelControl

_MODEL = "/v2/models/{name:word}"
_VERSION = _MODEL + "/versions/{version:digits}"
_EXTENSIONS = ("binary_tensor_data", "model_repository", "model_configuration", "classification")
_VERSION_OF_PINNACE = version("pinnace")

router = APIRouter(tags=["Open Inference Protocol"])


async def _named(name: str) -> str:
    return name


ModelName: TypeAlias = Annotated[str, Depends(_named)]


@router.get("/v2")
async def server_metadata() -> Response:
    """The metadata of this server: name, version, extensions."""
    document = {"name": "pinnace", "version": _VERSION_OF_PINNACE, "extensions": _EXTENSIONS}
    return json_response(orjson.dumps(document))


@router.get("/v2/health/live")
async def server_live() -> Response:
    """200 as long as the server answers at all."""
    return json_response(b'{"live":true}')


@router.get("/v2/health/ready")
async def server_ready(models: Models) -> Response:
    """200 if every model has a version that answers, else 503."""
    if models.is_ready():
        return json_response(b'{"ready":true}')
    return json_response(b'{"ready":false}', 503)


@router.get(_MODEL + "/ready")
@router.get(_VERSION + "/ready")
async def model_ready(models: Models, which: WhichModel) -> Response:
    """200 if the model answers, 503 if it does not, 404 if there is none."""
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
    servable = models.get(which)
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
    servable = models.get(which)
    _, signature = main_signature(servable)
    document = {
        "name": servable.name,
        "platform": servable.model.platform,
        "backend": "pinnace",
        "max_batch_size": 0,
        "input": _configure(signature.inputs),
        "output": _configure(signature.outputs),
    }
    return json_response(orjson.dumps(document))


@router.post("/v2/repository/index")
async def repository_index(models: Models) -> Response:
    """Every version of every model, and where it stands."""
    rows = []
    for name in models.names():
        for status in models.all_statuses(name):
            is_ready = status.state is State.AVAILABLE
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
    """Raise unless the request may change the models that are served."""
    control: ModelControl = request.app.state.exchange.control
    control.check(dict(request.headers.raw))


@router.post("/v2/repository/models/{name:word}/load", dependencies=[Depends(_controlled)])
async def load_model(models: Models, name: ModelName) -> Response:
    """Serve a model again that was unloaded, or look for new versions of one that is served."""
    await asyncio.to_thread(models.load, name)
    return Response()


@router.post("/v2/repository/models/{name:word}/unload", dependencies=[Depends(_controlled)])
async def unload_model(models: Models, name: ModelName) -> Response:
    """Stop serving a model until it is loaded again."""
    await asyncio.to_thread(models.unload, name)
    return Response()


def _describe(specs: Mapping[str, TensorSpec]) -> list[dict[str, object]]:
    return [
        {"name": name, "datatype": datatype(spec.dtype), "shape": _sizes(spec)}
        for name, spec in specs.items()
    ]


def _configure(specs: Mapping[str, TensorSpec]) -> list[dict[str, object]]:
    return [
        {
            "name": name,
            "data_type": f"TYPE_{datatype(spec.dtype).replace('BYTES', 'STRING')}",
            "dims": _sizes(spec),
        }
        for name, spec in specs.items()
    ]


def _sizes(spec: TensorSpec) -> list[int]:
    return [-1 if size is None else size for size in spec.shape.dims or ()]
