"""The Open Inference Protocol, with request bodies written from its specification.

Source: docs/reference/serving_api.md 4.
"""

import json
import struct
from typing import Any, ClassVar

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pinnace.serving.requests.datatypes import BY_NAME, read_tensor, write_tensor
from unit.serving.memory_server import Server

LENGTH = "inference-header-content-length"
JSON_KINDS = ["BOOL", "UINT8", "UINT32", "INT8", "INT16", "INT32", "INT64", "FP32", "FP64"]


def infer(server: Server, document: dict[str, Any], raw: bytes | None = None) -> httpx.Response:
    header = json.dumps(document).encode()
    headers = {} if raw is None else {LENGTH: str(len(header))}
    return server.ask("POST", "/v2/models/m/infer", content=header + (raw or b""), headers=headers)


def test_health_and_metadata(server: Server) -> None:
    assert server.ask("GET", "/v2/health/live").json() == {"live": True}
    assert server.ask("GET", "/v2/health/ready").json() == {"ready": True}
    assert server.ask("GET", "/v2").json()["name"] == "pinnace"
    assert "binary_tensor_data" in server.ask("GET", "/v2").json()["extensions"]
    assert server.ask("GET", "/v2/models/m").json() == {
        "name": "m",
        "versions": ["7"],
        "platform": "tensorflow_savedmodel",
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1]}],
        "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1]}],
    }
    assert server.ask("GET", "/v2/models/m/ready").json() == {"name": "m", "ready": True}
    assert server.ask("GET", "/v2/models/m/versions/7/ready").status_code == 200
    assert server.ask("GET", "/v2/models/m/versions/8/ready").status_code == 503
    assert server.ask("GET", "/v2/models/none/ready").status_code == 404
    unknown = (
        "Request for unknown model: 'none' is not found"  # Triton's clients search for this text
    )
    body = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}]}
    for reply in (
        server.ask("GET", "/v2/models/none"),
        server.ask("GET", "/v2/models/none/config"),
        server.ask("GET", "/v2/models/none/stats"),
        server.ask("POST", "/v2/models/none/infer", json=body),
    ):
        assert (reply.status_code, reply.json()["error"]) == (404, unknown)
    reply = server.ask("GET", "/v2/models/m/versions/8")
    assert reply.json()["error"] == "Request for unknown model: 'm' version 8 is not found"


def test_json_is_answered_with_json(server: Server) -> None:
    reply = infer(
        server,
        {
            "id": "42",
            "inputs": [{"name": "x", "shape": [2], "datatype": "FP32", "data": [1, 2.5]}],
        },
    )
    assert reply.json() == {
        "model_name": "m",
        "model_version": "7",
        "id": "42",
        "outputs": [{"name": "y", "datatype": "FP32", "shape": [2], "data": [2.5, 3.25]}],
    }
    assert reply.headers["x-model-version"] == "7"


def test_bytes_are_answered_with_bytes_if_asked(server: Server) -> None:
    x = np.float32([1, 2])
    reply = infer(
        server,
        {
            "inputs": [
                {
                    "name": "x",
                    "shape": [2],
                    "datatype": "FP32",
                    "parameters": {"binary_data_size": 8},
                }
            ],
            "parameters": {"binary_data_output": True},
        },
        x.tobytes(),
    )
    size = int(reply.headers[LENGTH])
    head, raw = json.loads(reply.content[:size]), reply.content[size:]
    assert reply.headers["content-type"] == "application/octet-stream"
    assert head["outputs"] == [
        {"name": "y", "datatype": "FP32", "shape": [2], "parameters": {"binary_data_size": 8}}
    ]
    np.testing.assert_array_equal(np.frombuffer(raw, "<f4"), x / 2 + 2)


@pytest.mark.parametrize("kind", JSON_KINDS)
def test_each_datatype_goes_and_comes_in_json(server: Server, kind: str) -> None:
    values = [True, False] if kind == "BOOL" else [0, 1, 100]
    signature = f"echo_{BY_NAME[kind].name}"
    shape = [len(values)]
    reply = infer(
        server,
        {
            "parameters": {"signature_name": signature},
            "inputs": [{"name": "x", "shape": shape, "datatype": kind, "data": values}],
        },
    )
    assert reply.json()["outputs"] == [
        {"name": "y", "datatype": kind, "shape": shape, "data": values}
    ]


def test_strings_go_and_come_as_bytes(server: Server) -> None:
    raw = b"".join(struct.pack("<I", len(s)) + s for s in (b"a", b"\xff\x00", b""))
    document = {
        "parameters": {"signature_name": "echo_string", "binary_data_output": True},
        "inputs": [
            {
                "name": "x",
                "shape": [3],
                "datatype": "BYTES",
                "parameters": {"binary_data_size": len(raw)},
            }
        ],
    }
    reply = infer(server, document, raw)
    assert reply.content[int(reply.headers[LENGTH]) :] == raw


def test_the_best_classes_are_named(server: Server) -> None:
    image = np.zeros((1, 8, 8, 1), np.float32)
    image[0, 3], image[0, 5] = 2, 1
    reply = infer(
        server,
        {
            "parameters": {"signature_name": "digits"},
            "inputs": [
                {
                    "name": "image",
                    "shape": [1, 8, 8, 1],
                    "datatype": "FP32",
                    "data": image.ravel().tolist(),
                }
            ],
            "outputs": [{"name": "scores", "parameters": {"classification": 2}}],
        },
    )
    assert reply.json()["outputs"] == [
        {
            "name": "scores",
            "datatype": "BYTES",
            "shape": [1, 2],
            "data": ["16.000000:3", "8.000000:5"],
        }
    ]


GOOD = {"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "must be a JSON object"),
        ({}, "'inputs' must be a list of at least one tensor"),
        ({"inputs": [1]}, "must be an object with a 'name'"),
        ({"inputs": [GOOD | {"datatype": "FP31"}]}, "datatype must be one of BOOL, "),
        ({"inputs": [GOOD | {"datatype": "FP16"}]}, "JSON has no form for float16"),
        ({"inputs": [GOOD | {"shape": [2]}]}, "which is 2 values, but its data is"),
        ({"inputs": [GOOD | {"shape": [-1]}]}, "must be a list of at most 32 sizes"),
        ({"inputs": [GOOD | {"shape": [2**70]}]}, "must be a list of at most 32 sizes"),
        ({"inputs": [GOOD | {"shape": [True]}]}, "must be a list of at most 32 sizes"),
        ({"inputs": [GOOD | {"shape": None}]}, "must be a list of at most 32 sizes"),
        ({"inputs": [GOOD | {"data": ["a"]}]}, "input 'x': JSON Value"),
        ({"inputs": [GOOD], "outputs": [{"name": "z"}]}, "there is no output 'z'; there are y"),
        ({"inputs": [GOOD], "id": 5}, "'id' must be a string"),
        ({"inputs": [GOOD], "parameters": 5}, "'parameters' of the request must be an object"),
        ({"inputs": [{"name": "x", "shape": [1], "datatype": "FP32"}]}, "has neither 'data' nor"),
    ],
)
def test_what_is_wrong_is_named(server: Server, document: Any, message: str) -> None:
    reply = infer(server, document)
    assert reply.status_code == 400
    assert message in reply.json()["error"]


def test_sizes_that_lie_are_refused(server: Server) -> None:
    for size, raw in ((8, b"1234"), (4, b"12345678"), (-1, b""), (2**62, b"")):
        tensor = {"name": "x", "shape": [1], "datatype": "FP32"}
        document = {"inputs": [tensor | {"parameters": {"binary_data_size": size}}]}
        assert infer(server, document, raw).status_code == 400


@pytest.mark.parametrize("kind", [kind for kind in BY_NAME if kind != "BYTES"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_tensors_come_back_from_their_bytes(kind: str, data: st.DataObject) -> None:
    dtype = BY_NAME[kind]
    drawn = np.float32 if kind == "BF16" else np.dtype(dtype.numpy)
    array = data.draw(hnp.arrays(drawn, hnp.array_shapes(min_dims=0, min_side=0)))
    array = array.astype(dtype.numpy)
    found = read_tensor("x", dtype, array.shape, memoryview(write_tensor(array)))
    assert found.dtype == array.dtype
    assert found.tobytes() == array.tobytes()


def test_models_are_unloaded_and_loaded(server: Server) -> None:
    assert server.ask("POST", "/v2/repository/index").json() == [
        {"name": "m", "version": "7", "state": "READY", "reason": ""}
    ]
    assert server.ask("POST", "/v2/repository/models/m/unload").status_code == 200
    assert server.ask("GET", "/v2/models/m/ready").status_code == 503
    assert infer(server, {"inputs": [GOOD]}).status_code == 404
    assert server.ask("POST", "/v2/repository/index").json()[0]["state"] == "UNAVAILABLE"
    assert server.ask("POST", "/v2/repository/models/m/load").status_code == 200
    assert infer(server, {"inputs": [GOOD]}).status_code == 200
    assert server.ask("POST", "/v2/repository/models/none/load").status_code == 404


class TestExtensions:
    """Triton's parameters and routes: each has an effect, or is refused by name."""

    X: ClassVar = {"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 2]}

    @pytest.mark.parametrize(
        ("document", "name"),
        [
            ({"inputs": [X], "parameters": {"sequence_id": 4}}, "sequence_id"),
            ({"inputs": [X], "parameters": {"sequence_id": "a"}}, "sequence_id"),
            ({"inputs": [X], "parameters": {"priority": 1}}, "priority"),
            ({"inputs": [X], "parameters": {"timeout": 1000}}, "timeout"),
            (
                {
                    "inputs": [X],
                    "outputs": [{"name": "y", "parameters": {"shared_memory_region": "r"}}],
                },
                "shared_memory_region",
            ),
            (
                {"inputs": [{**X, "parameters": {"shared_memory_offset": 0}}]},
                "shared_memory_offset",
            ),
        ],
    )
    def test_what_has_no_effect_is_refused(
        self, server: Server, document: dict[str, Any], name: str
    ) -> None:
        reply = server.ask("POST", "/v2/models/m/infer", json=document)
        assert reply.status_code == 501
        assert f"parameter '{name}'" in reply.json()["error"]

    def test_an_index_of_what_is_ready(self, server: Server) -> None:
        assert server.ask("POST", "/v2/repository/models/m/unload").status_code == 200
        everything = server.ask("POST", "/v2/repository/index").json()
        assert [row["state"] for row in everything] == ["UNAVAILABLE"]
        assert server.ask("POST", "/v2/repository/index", json={}).json() == everything
        assert server.ask("POST", "/v2/repository/index", json={"ready": False}).json()
        assert server.ask("POST", "/v2/repository/index", json={"ready": True}).json() == []
        for body in ({"ready": 1}, [], {"repository_name": "r"}):
            reply = server.ask("POST", "/v2/repository/index", json=body)
            assert reply.status_code == 400

    @pytest.mark.parametrize(
        ("parameters", "status"),
        [
            ({"config": "not json"}, 501),
            ({"file:1/model.onnx": "AAAA"}, 501),
            ({"else": 1}, 400),
            ([], 200),
            ([1], 400),
        ],
    )
    def test_a_load_changes_no_model(self, server: Server, parameters: Any, status: int) -> None:
        body = {"parameters": parameters}
        reply = server.ask("POST", "/v2/repository/models/m/load", json=body)
        assert reply.status_code == status

    def test_statistics(self, server: Server) -> None:
        for _ in range(3):
            server.ask("POST", "/v2/models/m/infer", json={"inputs": [self.X]})
        bad = {"inputs": [{**self.X, "data": [1]}]}
        assert server.ask("POST", "/v2/models/m/infer", json=bad).status_code == 400
        paths = ("/v2/models/stats", "/v2/models/m/stats", "/v2/models/m/versions/7/stats")
        for path in paths:
            (found,) = server.ask("GET", path).json()["model_stats"]
            assert (found["name"], found["version"], found["execution_count"]) == ("m", "7", 3)
            assert found["inference_stats"]["success"]["count"] == 3
            assert found["inference_stats"]["fail"]["count"] == 1
            assert found["inference_stats"]["queue"]["count"] == 3
            assert sum(row["compute_infer"]["count"] for row in found["batch_stats"]) == 3
        assert server.ask("GET", "/v2/models/n/stats").status_code == 404
        assert server.ask("GET", "/v2/models/m/versions/9/stats").status_code == 404

    def test_the_models(self, server: Server) -> None:
        assert server.ask("GET", "/v2/models").json() == {"models": ["m"]}

    def test_lists_may_lie_deeper_than_the_shape(self, server: Server) -> None:
        for data in ([[1, 2]], [[[1], [2]]], [1, 2]):
            body = {"inputs": [{**self.X, "data": data}]}
            reply = server.ask("POST", "/v2/models/m/infer", json=body)
            assert reply.json()["outputs"][0]["data"] == [2.5, 3.0]
