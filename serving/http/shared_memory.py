"""Triton's routes for shared memory: objects of this machine that clients register by name.

Source: docs/reference/serving_api.md 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import orjson
from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.http.bodies import json_response, read_body
from pinnace.serving.http.json_text import parse_json
from pinnace.serving.requests.regions import Regions, no_gpu, no_regions

if TYPE_CHECKING:
    from pinnace.serving.requests.exchange import Exchange

_SYSTEM, _CUDA = "/v2/systemsharedmemory", "/v2/cudasharedmemory"
_REGION = "/region/{name}"
_MAX_BYTES = 2**16  # of a request to register a region

router = APIRouter(tags=["Open Inference Protocol"])
# Replies without a body are documented as such by `response_class=Response`.


async def _regions(request: Request) -> Regions:
    exchange: Exchange = request.app.state.exchange
    if exchange.regions is None:
        raise no_regions()
    return exchange.regions


async def _name(request: Request) -> str:
    return str(request.path_params.get("name", ""))


Held: TypeAlias = Annotated[Regions, Depends(_regions)]
Name: TypeAlias = Annotated[str, Depends(_name)]


@router.get(_SYSTEM + "/status")
@router.get(_SYSTEM + _REGION + "/status")
async def system_memory_status(regions: Held, name: Name) -> Response:
    """The registered regions, or one of them."""
    rows = [
        {"name": one.name, "key": one.key, "offset": one.offset, "byte_size": one.byte_size}
        for one in regions.named(name)
    ]
    return json_response(orjson.dumps(rows))


@router.post(_SYSTEM + _REGION + "/register", response_class=Response)
async def register_system_memory(request: Request, regions: Held, name: Name) -> Response:
    """Map a part of a shared memory object under a name."""
    limit_s = request.app.state.settings.body_timeout_s
    document = parse_json(await read_body(request, _MAX_BYTES, limit_s))
    if not isinstance(document, dict):
        raise InvalidArgumentError("the request must be a JSON object")
    key = document.get("key")
    if not isinstance(key, str):
        raise InvalidArgumentError("'key' must be the name of an object of shared memory")
    regions.register(name, key, _size(document, "offset", 0), _size(document, "byte_size", None))
    return Response()


@router.post(_SYSTEM + "/unregister", response_class=Response)
@router.post(_SYSTEM + _REGION + "/unregister", response_class=Response)
async def unregister_system_memory(regions: Held, name: Name) -> Response:
    """Unregister all regions, or one; an unknown name is not an error."""
    regions.unregister(name)
    return Response()


@router.get(_CUDA + "/status")
async def cuda_memory_status(regions: Held) -> Response:
    """An empty list, since models run on the CPU."""
    del regions
    return json_response(b"[]")


@router.post(_CUDA + "/unregister", response_class=Response)
@router.post(_CUDA + _REGION + "/unregister", response_class=Response)
async def unregister_cuda_memory(regions: Held) -> Response:
    """No effect, since there are no such regions."""
    del regions
    return Response()


@router.post(_CUDA + _REGION + "/register", response_class=Response)
async def register_cuda_memory(regions: Held, name: Name) -> Response:
    """Refused, since there is no GPU."""
    del regions
    raise no_gpu(name)


def _size(document: dict[str, Any], name: str, default: int | None) -> int:
    number = document.get(name, default)
    if type(number) is not int or number < 0:
        raise InvalidArgumentError(f"'{name}' must be a number of bytes, got {str(number)[:40]}")
    return number
