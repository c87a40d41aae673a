"""TensorFlow Serving's REST interface.

Source: TensorFlow Serving, model_servers/http_rest_api_handler.cc; docs/reference/serving_api.md 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.serving.http.bodies import VERSION_HEADER, exchange_response, json_response
from pinnace.serving.http.json_examples import CLASSIFY, REGRESS
from pinnace.serving.http.paths import Models, WhichModel
from pinnace.serving.models.metadata import read_metadata
from pinnace.serving.models.versions import State

if TYPE_CHECKING:
    from pinnace.proto.tensor_pb2 import TensorProto
    from pinnace.serving.models.loaded_model import SignatureDefinition, TensorDefinition
    from pinnace.serving.service import ShadowReport

_MODEL = "/v1/models/{name:word}"
_VERSION = _MODEL + "/versions/{version:digits}"
_LABEL = _MODEL + "/labels/{label:word}"

_PREDICT_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "signature_name": {"type": "string", "default": "serving_default"},
                        "instances": {"type": "array", "minItems": 1, "items": {}},
                        "inputs": {},
                    },
                },
                "examples": {
                    "row": {"value": {"instances": [[1.0, 2.0], [3.0, 4.0]]}},
                    "column": {"value": {"inputs": {"x": [[1.0, 2.0], [3.0, 4.0]]}}},
                },
            }
        },
    }
}

_EXAMPLES_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["examples"],
                    "properties": {
                        "signature_name": {"type": "string", "default": "serving_default"},
                        "context": {"type": "object"},
                        "examples": {"type": "array", "minItems": 1, "items": {"type": "object"}},
                    },
                }
            }
        },
    }
}

router = APIRouter(tags=["TensorFlow Serving"])


@router.post(_MODEL + ":predict", openapi_extra=_PREDICT_BODY)
@router.post(_VERSION + ":predict", openapi_extra=_PREDICT_BODY)
@router.post(_LABEL + ":predict", openapi_extra=_PREDICT_BODY)
async def predict(request: Request, which: WhichModel) -> Response:
    """Run one signature on a batch: TensorFlow Serving REST, predict."""
    return await exchange_response(request, request.app.state.predict, which)


@router.post(_MODEL + ":classify", openapi_extra=_EXAMPLES_BODY)
@router.post(_VERSION + ":classify", openapi_extra=_EXAMPLES_BODY)
@router.post(_LABEL + ":classify", openapi_extra=_EXAMPLES_BODY)
async def classify(request: Request, which: WhichModel) -> Response:
    """Labels and scores of examples: TensorFlow Serving REST, classify."""
    return await exchange_response(request, CLASSIFY, which)


@router.post(_MODEL + ":regress", openapi_extra=_EXAMPLES_BODY)
@router.post(_VERSION + ":regress", openapi_extra=_EXAMPLES_BODY)
@router.post(_LABEL + ":regress", openapi_extra=_EXAMPLES_BODY)
async def regress(request: Request, which: WhichModel) -> Response:
    """One value for each example: TensorFlow Serving REST, regress."""
    return await exchange_response(request, REGRESS, which)


@router.post(_MODEL + ":explain", include_in_schema=False)
@router.post(_VERSION + ":explain", include_in_schema=False)
async def explain(models: Models, which: WhichModel) -> Response:
    """KServe v1 has this route; SavedModels have no explanations, so it is an error."""
    models.get(which)
    raise UnimplementedError(
        f"Model '{which.name}' has no explainer\n"
        "  Try: ':predict'; an explainer is a separate server that sends requests to this one"
    )


@router.get(_MODEL)
@router.get(_VERSION)
@router.get(_LABEL)
async def status(request: Request, models: Models, which: WhichModel) -> Response:
    """The status of a model's versions: TensorFlow Serving REST, model status."""
    shadow_report: ShadowReport = request.app.state.shadow_report
    statuses: list[dict[str, object]] = []
    for status in models.status(which):
        found: dict[str, object] = {
            "version": str(status.version),
            "state": status.state.name,
            "status": {"error_code": status.code_name, "error_message": status.message},
        }
        shadow = shadow_report(which.name, status.version)
        if shadow is not None:  # otherwise add no field that TensorFlow Serving lacks
            found["shadow"] = shadow
        statuses.append(found)
    document: dict[str, object] = {"model_version_status": statuses}
    if request.app.state.settings.kserve_status:
        is_ready = any(status["state"] == State.AVAILABLE.name for status in statuses)
        document = {"name": which.name, "ready": is_ready, **document}
    return json_response(_pretty(document))


@router.get(_MODEL + "/metadata")
@router.get(_VERSION + "/metadata")
@router.get(_LABEL + "/metadata")
async def metadata(models: Models, which: WhichModel) -> Response:
    """The signatures of a model: TensorFlow Serving REST, model metadata."""
    found = read_metadata(models, which)
    signatures = {name: _signature(definition) for name, definition in found.signatures.items()}
    document = {
        "model_spec": {"name": found.name, "signature_name": "", "version": str(found.version)},
        "metadata": {"signature_def": {"signature_def": signatures}},
    }
    return json_response(_pretty(document), headers={VERSION_HEADER: str(found.version)})


@router.get("/v1/models")
async def list_models(models: Models) -> Response:
    """The names of the models: KServe v1; TensorFlow Serving has no such list."""
    return json_response(_pretty({"models": models.names()}))


@router.options("/v1/{path:path}")
async def preflight(request: Request) -> Response:
    """The reply to a CORS preflight request."""
    if not request.headers.get("origin", "").lower().startswith(("http://", "https://")):
        raise InvalidArgumentError(f"Malformed request: OPTIONS {request.url.path}")
    return Response()


def _signature(definition: SignatureDefinition) -> dict[str, object]:
    return {
        "inputs": {name: _tensor(tensor) for name, tensor in definition.inputs.items()},
        "outputs": {name: _tensor(tensor) for name, tensor in definition.outputs.items()},
        "method_name": definition.method_name,
        "defaults": {name: _value(value) for name, value in definition.defaults.items()},
    }


def _value(message: TensorProto) -> dict[str, object]:
    """A tensor in protobuf's JSON with empty fields, as TensorFlow Serving writes metadata."""
    from google.protobuf.json_format import MessageToDict  # late: few models have defaults

    found: dict[str, object] = MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return found


def _tensor(definition: TensorDefinition) -> dict[str, object]:
    shape = definition.shape
    return {
        "dtype": definition.dtype,
        "name": definition.name,
        "tensor_shape": {
            "dim": [{"size": str(size), "name": ""} for size in shape or ()],
            "unknown_rank": shape is None,
        },
    }


def _pretty(document: dict[str, object]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
