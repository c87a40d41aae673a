"""Classify and regress: Examples in JSON, as in TensorFlow Serving's REST interface."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from pinnace.framework.specs import TensorSpec
from pinnace.proto.example_pb2 import Example
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.http.json_examples import read_examples
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.running.signatures import Arrays
from unit.serving.memory_server import Server, running
from unit.serving.numpy_models import NumpyModel, half_plus_two, write_version

TEXTS = {"inputs": TensorSpec([None], "string")}


def lengths(given: Arrays) -> Any:
    """The sum of feature `x` of each example."""
    examples = [Example.FromString(text) for text in given["inputs"]]
    return np.float32([sum(e.features.feature["x"].float_list.value) for e in examples])


def classes(given: Arrays) -> Arrays:
    sums = lengths(given)
    labels = np.empty((len(sums), 2), object)
    labels[:] = [b"low", b"high"]
    return {"classes": labels, "scores": np.stack([1 - sums, sums], 1)}


OUTPUTS = {
    "classes": TensorSpec([None, 2], "string"),
    "scores": TensorSpec([None, 2], "float32"),
}
VALUE = {"outputs": TensorSpec([None], "float32")}


@pytest.fixture
def examples_server(tmp_path: Path) -> Iterator[Server]:
    write_version(tmp_path / "m", 7)
    model = LoadedModel(
        {
            "serving_default": NumpyModel(TEXTS, OUTPUTS, classes),
            "scores": NumpyModel(TEXTS, OUTPUTS, lambda g: {"scores": classes(g)["scores"]}),
            "classes": NumpyModel(TEXTS, OUTPUTS, lambda g: {"classes": classes(g)["classes"]}),
            "value": NumpyModel(TEXTS, VALUE, lambda g: {"outputs": lengths(g)}),
            "column": NumpyModel(TEXTS, VALUE, lambda g: {"outputs": lengths(g)[:, None]}),
            "numbers": half_plus_two(),
        }
    )
    models = (ModelConfig("m", str(tmp_path / "m")),)
    with running(Settings(models=models, file_system_poll_s=0), lambda _: model) as server:
        yield server


def ask(server: Server, verb: str, document: object) -> httpx.Response:
    return server.ask("POST", f"/v1/models/m:{verb}", content=json.dumps(document))


def test_classes_come_with_scores(examples_server: Server) -> None:
    examples = [{"x": 0.25}, {"x": [0.5, 0.25]}]
    reply = ask(examples_server, "classify", {"examples": examples})
    assert reply.json() == {
        "results": [[["low", 0.75], ["high", 0.25]], [["low", 0.25], ["high", 0.75]]]
    }
    assert reply.headers["x-model-version"] == "7"
    reply = ask(examples_server, "classify", {"examples": examples[:1], "signature_name": "scores"})
    assert reply.json() == {"results": [[["", 0.75], ["", 0.25]]]}
    reply = ask(
        examples_server, "classify", {"examples": examples[:1], "signature_name": "classes"}
    )
    assert reply.json() == {"results": [[["low", 0.0], ["high", 0.0]]]}


@pytest.mark.parametrize("signature", ["value", "column"])
def test_values_come_one_an_example(examples_server: Server, signature: str) -> None:
    body = {"examples": [{"x": 0.5}, {}], "context": {"x": 2.0}, "signature_name": signature}
    assert ask(examples_server, "regress", body).json() == {"results": [0.5, 2.0]}


def test_kinds_of_features() -> None:
    body = {
        "context": {"a": 1},
        "examples": [
            {"i": [1, True], "f": 1.5, "s": ["x", {"b64": base64.b64encode(b"\xff").decode()}]}
        ],
    }
    name, (text,) = read_examples(json.dumps(body).encode())
    features = Example.FromString(text).features.feature
    assert name == "serving_default"
    assert list(features["a"].int64_list.value) == [1]
    assert list(features["i"].int64_list.value) == [1, 1]
    assert list(features["f"].float_list.value) == [1.5]
    assert list(features["s"].bytes_list.value) == [b"x", b"\xff"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "Is not object"),
        ({}, "key 'examples' is expected and was not found"),
        ({"examples": {}}, "Expecting 'examples' value to be an list/array"),
        ({"examples": []}, "'examples' value is an empty array"),
        ({"examples": [1]}, "Example must be JSON object but got JSON Number: example 0"),
        (
            {"examples": [{"x": [1, 2.5]}]},
            "Unexpected element type in feature: x expecting type: int64, got 2.5",
        ),
        ({"examples": [{"x": None}]}, "Feature: x has element with unexpected JSON type: Null"),
        ({"examples": [{"x": [[1]]}]}, "x has element with unexpected JSON type: Array"),
        ({"examples": [{"x": {"y": 1}}]}, "x has element with unexpected JSON type: Object"),
        (
            {"examples": [{"x": 2**63}]},
            "Feature: x has uint64_t element. Only int64_t is supported.",
        ),
        ({"examples": [{"x": {"b64": "!"}}]}, "Unable to base64 decode"),
        (
            {"examples": [{}], "context": 5},
            "Example must be JSON object but got JSON Number: context",
        ),
        ({"examples": [{}], "signature_name": 5}, "must be a string value"),
        (
            {"examples": [{}], "signature_name": "none"},
            "No signature was found with the name: none",
        ),
        ({"examples": [{}], "signature_name": "numbers"}, "does not read Examples"),
        ({"examples": [{}], "signature_name": "value"}, "contain at least one of"),
    ],
)
def test_what_is_wrong_is_named(examples_server: Server, document: object, message: str) -> None:
    reply = ask(examples_server, "classify", document)
    assert reply.status_code == 400
    assert message in reply.json()["error"]
