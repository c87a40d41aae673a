"""The OpenAPI document agrees with the server: examples are answered, schemas fit the replies."""

from pathlib import Path
from typing import Any

import pytest

from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from unit.serving.memory_server import Server, running
from unit.serving.numpy_models import read_version, write_version

PREDICT, INFER = "/v1/models/m:predict", "/v2/models/m/infer"
FAILING = ("value_error", "memory_error", "not_found")


def document(server: Server) -> dict[str, Any]:
    reply = server.ask("GET", "/openapi.json")
    assert reply.status_code == 200
    found: dict[str, Any] = reply.json()
    return found


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value matches a schema, for the keywords that the documents use."""
    if "anyOf" in schema:
        return any(fits(value, one) for one in schema["anyOf"])
    if "const" in schema:
        return bool(value == schema["const"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return any(fits(value, {**schema, "type": one}) for one in kind)
    if kind == "object":
        if not isinstance(value, dict) or not set(schema.get("required", ())) <= value.keys():
            return False
        known = schema.get("properties", {})
        closed = schema.get("additionalProperties") is False
        return not (closed and value.keys() - known) and all(
            fits(item, known[key]) for key, item in value.items() if key in known
        )
    if kind == "array":
        if not isinstance(value, list):
            return False
        sized = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 10**9)
        first = schema.get("prefixItems", [schema.get("items", {})] * len(value))
        return sized and all(fits(item, one) for item, one in zip(value, first, strict=False))
    kinds: dict[str, tuple[type, ...]] = {
        "string": (str,),
        "boolean": (bool,),
        "integer": (int,),
        "number": (int, float),
        "null": (type(None),),
    }
    if kind is None:
        return True
    if not isinstance(value, kinds[kind]) or (kind != "boolean" and isinstance(value, bool)):
        return False
    return kind != "integer" or bool(schema.get("minimum", value) <= value)


@pytest.mark.parametrize("path", [PREDICT, INFER])
def test_examples_are_answered_as_the_schemas_say(server: Server, path: str) -> None:
    operation = document(server)["paths"][path]["post"]
    content = operation["requestBody"]["content"]["application/json"]
    reply_schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    assert {"serving_default", "digits", "two", "echo_string"} <= content["examples"].keys()
    assert "float16" not in content["examples"]
    for name, example in content["examples"].items():
        assert fits(example["value"], content["schema"]), name
        reply = server.ask("POST", path, json=example["value"])
        if name in FAILING:
            assert str(reply.status_code) in operation["responses"]
            continue
        assert reply.status_code == 200, (name, reply.text)
        assert fits(reply.json(), reply_schema), (name, reply.text)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"instances": []},
        {"instances": 3},
        {"instances": [[[["x"]] * 8] * 8], "signature_name": "digits"},
        {"instances": [[[0]]], "signature_name": "digits"},
        {"instances": [{"a": [1, 2]}], "signature_name": "two"},
        {"instances": [0], "signature_name": "nothing"},
    ],
)
def test_what_the_schema_refuses_the_server_refuses(server: Server, body: object) -> None:
    operation = document(server)["paths"][PREDICT]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    # Only the intended signature: those of any shape would accept anything.
    name = body.get("signature_name", "serving_default") if isinstance(body, dict) else ""
    own = [one for one in schema["anyOf"] if one["title"].startswith(f"{name},")]
    assert not fits(body, {"anyOf": own})
    assert server.ask("POST", PREDICT, json=body).status_code == 400


def test_every_path_names_its_parameters(server: Server) -> None:
    for path, item in document(server)["paths"].items():
        for operation in item.values():
            named = {p["name"] for p in operation.get("parameters", ()) if p["in"] == "path"}
            assert named == {part.split("}")[0] for part in path.split("{")[1:]}, path


def test_answers_without_a_body_are_described_without_one(server: Server) -> None:
    words = ("register", "unregister", "load", "unload")
    paths = document(server)["paths"]
    empty = [path for path in paths if path.rsplit("/", 1)[-1] in words]
    assert len(empty) == 8
    for path in empty:
        assert "content" not in paths[path]["post"]["responses"]["200"], path


def test_it_is_written_again_when_models_change(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    settings = Settings(models=(ModelConfig("m", str(tmp_path)),), file_system_poll_s=0)
    with running(settings, read_version) as server:
        before = server.ask("GET", "/openapi.json").content
        assert server.ask("GET", "/openapi.json").content == before
        write_version(tmp_path, 2)
        server.repository.refresh()
        after = document(server)["paths"]["/v1/models/m:predict"]["post"]["description"]
        assert "newest version is 2" in after
