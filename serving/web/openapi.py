"""The OpenAPI document of the served models: predict and infer, typed by their signatures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pinnace.framework.errors import OpError
from pinnace.serving.requests.datatypes import datatype
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE
from pinnace.serving.web.example_request import example_of
from pinnace.serving.web.overview import public_signatures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI

    from pinnace.framework.dtypes import DType
    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.running.signatures import Runnable
    from pinnace.serving.web.example_request import Example

_MOST_VALUES = 4096  # larger examples are of no help
_NPY = "application/x-npy"
_FILE = {"type": "string", "format": "binary", "description": "one array, as numpy.save writes it"}
_ERROR = {"$ref": "#/components/schemas/Error"}
_ERRORS = {
    "400": "The request cannot be understood, or does not fit the signature.",
    "401": "An API key is needed.",
    "404": "There is no such model or version.",
    "408": "The body did not arrive in time.",
    "413": "The body is too large.",
    "415": "The body is packed in a way that the server does not know.",
    "429": "The model would need more memory than it may take.",
    "500": "The model failed.",
    "501": "JSON has no form for a dtype.",
    "503": "The server is busy, or the model is not ready: come back later.",
    "504": "There was no answer in time.",
}
_INTEGERS = re.compile(r"(u?)int(\d+)")
_SAFE_BITS = 53  # larger integers are inexact in some JSON parsers


def describe(app: FastAPI, servables: list[Servable], has_keys: bool = False) -> dict[str, Any]:
    """Return the OpenAPI document of an application.

    Args:
        app: the application with the routes.
        servables: the newest version of each model.
        has_keys: whether clients must have an API key.
    """
    from fastapi.openapi.utils import get_openapi  # late: rarely needed

    document = get_openapi(
        title="pinnace",
        version=app.version,
        description="SavedModels that answer. The page at `/` has a form for each signature.",
        routes=app.routes,
    )
    paths: dict[str, Any] = {}
    for servable in servables:
        name = quote(servable.name, safe="")
        paths[f"/v1/models/{name}:predict"] = {"post": _predict(servable)}
        paths[f"/v2/models/{name}/infer"] = {"post": _infer(servable)}
    names = [servable.name for servable in servables]
    for path, item in document["paths"].items():
        paths[path] = _completed(path, item, names)
    document["paths"] = paths
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    schemas["Error"] = {
        "type": "object",
        "required": ["error"],
        "properties": {"error": {"type": "string"}},
    }
    if has_keys:
        document["components"]["securitySchemes"] = {
            "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            "bearer": {"type": "http", "scheme": "bearer"},
        }
        document["security"] = [{"key": []}, {"bearer": []}]
    return document


def _completed(path: str, item: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """A route as FastAPI describes it, with the words of its path and the common errors."""
    parameters = []
    for word in re.findall(r"{(\w+)}", path):
        schema: dict[str, Any] = {"type": "string"}
        if word == "name" and names:
            schema = {"type": "string", "enum": names}
        elif word == "version":
            schema = {"type": "string", "pattern": "^[0-9]{1,18}$"}
        elif word == "label":
            schema = {"type": "string", "pattern": "^[A-Za-z0-9_]+$"}
        parameters.append({"name": word, "in": "path", "required": True, "schema": schema})
    for operation in item.values():
        others = [p for p in operation.get("parameters", ()) if p["in"] != "path"]
        if parameters or others:
            operation["parameters"] = [*parameters, *others]
        operation["responses"].pop("422", None)
        operation["responses"] |= _errors()
        if path.rsplit("/", 1)[-1] in ("ready", "readyz"):  # the reply is the same with 503
            ready = _object({"ready": {"type": "boolean"}}, closed=False)
            operation["responses"]["503"] = {
                "description": "It is not ready.",
                "content": {"application/json": {"schema": ready}},
            }
    return item


def _errors() -> dict[str, Any]:
    return {
        code: {"description": text, "content": {"application/json": {"schema": _ERROR}}}
        for code, text in _ERRORS.items()
    }


def _predict(servable: Servable) -> dict[str, Any]:
    requests, replies, examples = [], [], {}
    takes_npy = False
    for name, signature in public_signatures(servable).items():
        takes_npy |= len(signature.inputs) == 1
        example = example_of(servable, name)
        if example is None:
            continue
        requests += _predict_requests(name, signature, example)
        replies += _predict_replies(signature)
        if example.count <= _MOST_VALUES:
            examples[name] = {"summary": _summary(signature), "value": example.document()}
    content: dict[str, Any] = {
        "application/json": {"schema": _any_of(requests), "examples": examples}
    }
    if takes_npy:
        content[_NPY] = {"schema": _FILE}
    return _operation(
        servable,
        "predict",
        "TensorFlow Serving REST: `instances` has one entry for each row, `inputs` whole tensors.",
        content,
        _any_of(replies),
        npy=any(len(s.outputs) == 1 for s in servable.signatures.values()),
    )


def _predict_requests(name: str, signature: Runnable, example: Example) -> list[dict[str, Any]]:
    inputs = signature.inputs
    only = len(inputs) == 1
    head: dict[str, Any] = {"signature_name": {"const": name}}
    required = [] if name == DEFAULT_SIGNATURE else ["signature_name"]
    whole: dict[str, Any] = {key: _values(spec, 0) for key, spec in inputs.items()}
    forms: dict[str, dict[str, Any]] = {
        "inputs": next(iter(whole.values())) if only else _object(whole, closed=False)
    }
    if example.form == "instances":
        rows = {key: _values(spec, 1) for key, spec in inputs.items()}
        row = next(iter(rows.values())) if only else _object(rows)
        forms = {"instances": {"type": "array", "minItems": 1, "items": row}, **forms}
    return [
        {
            "title": f"{name}, {form}",
            "type": "object",
            "required": [*required, form],
            "properties": {**head, form: schema},
        }
        for form, schema in forms.items()
    ]


def _predict_replies(signature: Runnable) -> list[dict[str, Any]]:
    outputs = signature.outputs
    only = len(outputs) == 1
    whole = {key: _values(spec, 0, answers=True) for key, spec in outputs.items()}
    rows = {key: _values(spec, 1, answers=True) for key, spec in outputs.items()}
    row = next(iter(rows.values())) if only else _object(rows)
    value = next(iter(whole.values())) if only else _object(whole)
    replies = [
        {"title": "to instances", **_object({"predictions": {"type": "array", "items": row}})},
        {"title": "to inputs", **_object({"outputs": value})},
    ]
    if hasattr(signature, "run_other_shapes"):
        # The graph also runs on undeclared shapes, so that outputs may have others, too.
        for title, form in (
            ("instances", {"predictions": {"type": "array"}}),
            ("inputs", {"outputs": {}}),
        ):
            replies.append({"title": f"to {title} of other shapes", **_object(form)})
    return replies


def _infer(servable: Servable) -> dict[str, Any]:
    requests, examples = [], {}
    for name, signature in public_signatures(servable).items():
        try:
            kinds = {key: datatype(spec.dtype) for key, spec in signature.inputs.items()}
        except OpError:
            continue  # the protocol has no such tensors
        requests.append(_infer_request(name, signature, kinds))
        example = example_of(servable, name)
        if example is not None and example.count <= _MOST_VALUES:
            examples[name] = {
                "summary": _summary(signature),
                "value": _infer_example(example, signature, kinds),
            }
    tensor = _object(
        {
            "name": {"type": "string"},
            "datatype": {"type": "string"},
            "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}},
            "data": {"type": "array", "items": {}},
        },
        optional=("data",),
        closed=False,
    )
    reply = _object(
        {
            "model_name": {"const": servable.name},
            "model_version": {"type": "string"},
            "outputs": {"type": "array", "items": tensor},
        },
        closed=False,
    )
    content = {"application/json": {"schema": _any_of(requests), "examples": examples}}
    text = "Open Inference Protocol: tensors as flat or nested lists, or as bytes after the JSON."
    return _operation(servable, "infer", text, content, reply)


def _infer_request(name: str, signature: Runnable, kinds: Mapping[str, str]) -> dict[str, Any]:
    tensors = [
        _object(
            {
                "name": {"const": key},
                "datatype": {"const": kinds[key]},
                "shape": _shape(spec),
                "data": {"type": "array", "items": _element(spec.dtype)}
                if spec.shape.rank is not None and spec.shape.rank < 2
                else {"type": "array"},
            },
            closed=False,
        )
        for key, spec in signature.inputs.items()
    ]
    request = _object(
        {
            "inputs": {
                "type": "array",
                "minItems": len(tensors),
                "maxItems": len(tensors),
                "items": _any_of(tensors),
            },
            "parameters": _object({"signature_name": {"const": name}}, closed=False),
            "id": {"type": "string"},
        },
        optional=("id",) if name != DEFAULT_SIGNATURE else ("id", "parameters"),
        closed=False,
    )
    return {"title": name, **request}


def _infer_example(
    example: Example, signature: Runnable, kinds: Mapping[str, str]
) -> dict[str, Any]:
    inputs = []
    for key in signature.inputs:
        filling = example.fillings[key]
        shape = ([1] if example.form == "instances" else []) + list(filling.dims)
        values = _flat(filling.nested())
        inputs.append({"name": key, "datatype": kinds[key], "shape": shape, "data": values})
    document: dict[str, Any] = {"inputs": inputs}
    if example.signature_name != DEFAULT_SIGNATURE:
        document["parameters"] = {"signature_name": example.signature_name}
    return document


def _flat(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, list) else [value]


def _operation(
    servable: Servable,
    what: str,
    text: str,
    content: dict[str, Any],
    reply: dict[str, Any],
    npy: bool = False,
) -> dict[str, Any]:
    good: dict[str, Any] = {"application/json": {"schema": reply}}
    if npy:
        good[_NPY] = {"schema": _FILE}
    version = {"description": "that answered", "schema": {"type": "string"}}
    return {
        "tags": [servable.name],
        "summary": f"{what}, model {servable.name}",
        "description": f"{text} The newest version is {servable.version}.",
        "operationId": f"{what}_{re.sub('[^A-Za-z0-9]', '_', servable.name)}",
        "requestBody": {"required": True, "content": content},
        "responses": {
            "200": {
                "description": "The outputs.",
                "headers": {"X-Model-Version": version},
                "content": good,
            },
            **_errors(),
        },
    }


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    distinct = [schema for i, schema in enumerate(schemas) if schema not in schemas[:i]]
    if not distinct:
        return {"type": "object"}
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _object(
    properties: dict[str, Any], optional: tuple[str, ...] = (), closed: bool = True
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "object",
        "required": [name for name in properties if name not in optional],
        "properties": properties,
    }
    return {**found, "additionalProperties": False} if closed else found


def _shape(spec: TensorSpec) -> dict[str, Any]:
    dims = spec.shape.dims
    size = {"type": "integer", "minimum": 0}
    if dims is None:
        return {"type": "array", "items": size}
    return {
        "type": "array",
        "minItems": len(dims),
        "maxItems": len(dims),
        "prefixItems": [size if dim is None else {"const": dim} for dim in dims],
    }


def _values(spec: TensorSpec, skip: int, answers: bool = False) -> dict[str, Any]:
    """The schema of the nested lists of a tensor, without its first axes."""
    if spec.shape.dims is None:
        return {"description": f"{spec.dtype.name}, of any shape"}
    schema = _element(spec.dtype)
    if answers and schema.get("type") == "number":
        # NaN and Infinity are written by name, which no schema has; many parsers read them as null.
        schema["type"] = ["number", "null"]
    for size in reversed(spec.shape.dims[skip:]):
        schema = {"type": "array", "items": schema}
        if size is not None:
            schema |= {"minItems": size, "maxItems": size}
    return {**schema, "description": f"{spec.dtype.name}{spec.shape.text}"}


def _element(dtype: DType) -> dict[str, Any]:
    integer = _INTEGERS.fullmatch(dtype.name)
    if integer:
        bits = int(integer[2])
        low = 0 if integer[1] else -(2 ** (bits - 1))
        high = 2**bits - 1 if integer[1] else 2 ** (bits - 1) - 1
        if bits > _SAFE_BITS:
            return {"type": "integer", "format": dtype.name}
        return {"type": "integer", "minimum": low, "maximum": high}
    if dtype.name == "bool":
        return {"type": "boolean"}
    if dtype.name == "string":
        base64 = _object({"b64": {"type": "string", "contentEncoding": "base64"}})
        return {"anyOf": [{"type": "string"}, base64]}
    return {"type": "number", "format": dtype.name}


def _summary(signature: Runnable) -> str:
    def listed(specs: Mapping[str, TensorSpec]) -> str:
        return ", ".join(f"{key} {s.dtype.name}{s.shape.text}" for key, s in specs.items())

    return f"{listed(signature.inputs)} → {listed(signature.outputs)}"
