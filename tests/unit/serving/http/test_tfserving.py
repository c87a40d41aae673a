import asyncio
import base64
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable, MutableMapping
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from pinnace.serving.config.model_config import All, ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loaded_model import LoadedModel
from unit.serving.memory_server import Server, running
from unit.serving.numpy_models import (
    JSON_DTYPES,
    every_kind,
    half_plus_two,
    read_version,
    slow,
    write_version,
)

ZEROS = np.zeros((1, 8, 8, 1)).tolist()


def error(reply: httpx.Response) -> str:
    """The message of an error reply, whose only key is `error`."""
    document = reply.json()
    assert list(document) == ["error"]
    assert reply.headers["content-type"] == "application/json"
    return str(document["error"])


def test_rows_are_answered_with_rows(server: Server) -> None:
    reply = server.predict({"instances": [1.0, 2.0, 5.0]})
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["x-model-version"] == "7"
    assert reply.json() == {"predictions": [2.5, 3.0, 4.5]}


def test_columns_are_answered_with_columns(server: Server) -> None:
    assert server.predict({"inputs": [1, 2]}).json() == {"outputs": [2.5, 3.0]}
    assert server.predict({"inputs": {"x": [1, 2]}}).json() == {"outputs": [2.5, 3.0]}


def test_several_inputs_and_outputs_have_names(server: Server) -> None:
    rows = {"instances": [{"a": [1, 2], "b": [3, 4]}, {"a": [0, 0], "b": [1, 1]}]}
    assert server.predict(rows, signature="two").json() == {
        "predictions": [
            {"sum": [4, 6], "difference": [-2, -2]},
            {"sum": [1, 1], "difference": [-1, -1]},
        ]
    }
    columns = {"inputs": {"a": [[1, 2]], "b": [[3, 4]]}}
    assert server.predict(columns, signature="two").json() == {
        "outputs": {"sum": [[4, 6]], "difference": [[-2, -2]]}
    }


@pytest.mark.parametrize("dtype", JSON_DTYPES)
def test_each_dtype_comes_back_as_it_went(server: Server, dtype: str) -> None:
    values = {"string": ["a", "é", ""], "bool": [True, False]}.get(dtype, [0, 1, 100])
    reply = server.predict({"instances": values}, signature=f"echo_{dtype}")
    assert reply.json() == {"predictions": values}
    assert server.predict({"inputs": values[0]}, signature=f"echo_{dtype}").json() == {
        "outputs": values[0]
    }


def test_bytes_travel_as_base64(server: Server) -> None:
    value = {"b64": base64.b64encode(b"\xff\x00").decode()}
    body = {"instances": [value, "text"], "signature_name": "text_bytes"}
    assert server.predict(body).json() == {"predictions": [value, {"b64": "dGV4dA=="}]}
    body["signature_name"] = "echo_string"
    reply = server.predict(body)
    assert reply.status_code == 400
    assert "has a string that is not UTF-8" in error(reply)


def test_what_is_no_number_travels_by_name(server: Server) -> None:
    reply = server.predict(b'{"instances": [NaN, Infinity, -Inf, 1]}')
    assert reply.text == '{"predictions":[NaN,Infinity,-Infinity,2.5]}'


@pytest.mark.parametrize(
    "path",
    [
        "/v1/models/m:predict",
        "/v1/models/m/versions/7:predict",
        "/v1/models/m/versions/007:predict",
        "/V1/Models/m/Versions/7:PREDICT",
        "/v1/models/%6d:predict",
        "/v1/models/m:predict?a=b",
    ],
)
def test_paths_are_matched_in_any_case(server: Server, path: str) -> None:
    assert server.ask("POST", path, content=b'{"instances": [0]}').json() == {"predictions": [2.0]}


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "x", ""])
def test_the_content_type_of_a_request_does_not_matter(server: Server, kind: str) -> None:
    headers = {"content-type": kind}
    reply = server.ask("POST", "/v1/models/m:predict", content=b'{"inputs": 0}', headers=headers)
    assert error(reply).startswith("Input 'x' must be float32[?], got float32[]")


@pytest.mark.parametrize(
    ("body", "signature", "message"),
    [
        (b"", None, "JSON Parse error: The document is empty"),
        (b"{", None, "JSON Parse error: "),
        (
            b"\xff",
            None,
            'JSON Parse error: Invalid UTF-8, bytes of a tensor are {"b64": "…"}, at offset: 0',
        ),
        (b"[" * 10**5, None, "JSON Parse error"),
        ([], None, "Is not object"),
        ({}, None, "Missing 'inputs' or 'instances' key"),
        ({"instances": []}, None, "No values in 'instances' array"),
        ({"instances": 3}, None, "Expecting 'instances' to be an list/array"),
        ({"instances": [1], "inputs": [1]}, None, "expecting only one of"),
        ({"instances": [1], "signature_name": None}, None, "'signature_name' key must be a string"),
        ({"instances": [1]}, "other", 'Serving signature name: "other" not found in signature def'),
        ({"instances": [1]}, "two", "instances is a plain list, but expecting list of objects"),
        ({"inputs": [1]}, "two", "inputs is a plain value/list, but expecting an object"),
        ({"inputs": {"a": [[1, 2]]}}, "two", "Missing named input: b in 'inputs' object."),
        ({"instances": [{"a": [1, 2]}]}, "two", "keys must be the inputs of the signature"),
        (
            {"instances": ["1"]},
            None,
            'JSON Value: "1" Type: String is not of expected type: float32',
        ),
        ({"instances": [1.5]}, "echo_int32", "is not of expected type: int32"),
        ({"instances": [2**31]}, "echo_int32", "is not of expected type: int32"),
        ({"instances": [[1], [1, 2]]}, None, "Expecting tensor size: 1 but got: 2"),
        (
            {"instances": [[1, 2]]},
            None,
            "Input 'x' must be float32[?], got float32[1, 2]\n  Try: one list less",
        ),
        (
            {"inputs": ZEROS[0]},
            "digits",
            "Input 'image' must be float32[?, 8, 8, 1], got float32[8, 8, 1]\n  Try: one list more",
        ),
        (
            {"instances": [np.zeros((8, 7, 1)).tolist()]},
            "digits",
            "Input 'image' must be float32[?, 8, 8, 1], got float32[1, 8, 7, 1]",
        ),
        ({"instances": [1]}, "total", "Tensor name: total has no shape information"),
    ],
)
def test_a_malformed_body_is_400(
    server: Server, body: object, signature: str | None, message: str
) -> None:
    if isinstance(body, list):
        body = json.dumps(body).encode()
    reply = server.predict(body, signature=signature)
    assert reply.status_code == 400
    assert message in error(reply)
    assert server.predict({"instances": [1]}).status_code == 200  # other requests are not affected


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/v1/models/n:predict", 404, "Servable not found for request: Latest(n)"),
        ("/v1/models/m/versions/8:predict", 404, "Servable not found for request: Specific(m, 8)"),
        ("/v1/models/m/labels/l:predict", 400, "Unrecognized servable version label: l"),
        (
            f"/v1/models/m/versions/{2**63}:predict",
            400,
            f"Failed to convert version: {2**63} to numeric.",
        ),
        (
            f"/v1/models/m/versions/{'9' * 5000}:predict",
            400,
            f"Failed to convert version: {'9' * 40} to numeric.",
        ),
        ("/v1/models/..%2F..%2Fetc%2Fpasswd:predict", 404, "Latest(../../etc/passwd)"),
        ("/v1/models/%ff:predict", 404, "Latest(\ufffd)"),
        ("/v1/models/m:train", 400, "Malformed request: POST /v1/models/m:train"),
        ("/v1/models/m", 400, "Malformed request: POST /v1/models/m"),
        ("/v1/models/m/versions/x:predict", 400, "Malformed request: POST /v1/models/m/versions/x"),
        ("/v1/models/a/b:predict", 400, "Malformed request: POST /v1/models/a/b:predict"),
        ("/v1/models/m:predict/", 400, "Malformed request: POST /v1/models/m:predict/"),
        ("/v1/models/:predict", 400, "Malformed request: POST /v1/models/:predict"),
        ("/v1/nothing", 400, "Malformed request: POST /v1/nothing"),
        ("/other", 404, "Not found: POST /other"),
        ("/", 405, "Method Not Allowed: POST /"),
    ],
)
def test_a_path_that_leads_nowhere_says_so(
    server: Server, path: str, status: int, message: str
) -> None:
    reply = server.ask("POST", path, content=b'{"instances": [0]}')
    assert reply.status_code == status
    assert message in error(reply)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD", "PURGE"])
def test_a_wrong_method_is_malformed(server: Server, method: str) -> None:
    reply = server.ask(method, "/v1/models/m:predict")
    assert reply.status_code == 400
    if method != "HEAD":
        assert error(reply) == f"Malformed request: {method} /v1/models/m:predict"


@pytest.mark.parametrize(
    ("signature", "status", "message"),
    [
        ("value_error", 500, "ValueError: a fault in the model"),
        ("memory_error", 429, "MemoryError"),
        ("not_found", 404, "table 'words' has no key 'x'"),
    ],
)
def test_a_model_that_raises_is_one_error(
    server: Server, signature: str, status: int, message: str
) -> None:
    reply = server.predict({"instances": [1]}, signature=signature)
    assert reply.status_code == status
    assert error(reply) == message
    assert server.predict({"instances": [1]}).status_code == 200


def test_a_dtype_that_json_has_not_is_501(server: Server) -> None:
    reply = server.predict({"instances": [1]}, signature="float16")
    assert reply.status_code == 501
    assert error(reply).startswith("Conversion of JSON Value: [1] to type: float16")


class TestBodies:
    PATH = "/v1/models/m:predict"
    BODY = b'{"instances": [0]}'

    def post(self, server: Server, body: Any, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return server.ask("POST", self.PATH, content=body, headers=named)

    @pytest.mark.parametrize(
        ("encoding", "pack"),
        [
            ("gzip", gzip.compress),
            ("GZIP", gzip.compress),
            ("x-gzip", gzip.compress),
            ("deflate", zlib.compress),
            ("identity", bytes),
            ("gzip, deflate", lambda body: zlib.compress(gzip.compress(body))),
        ],
    )
    def test_packed_bodies_are_unpacked(
        self, server: Server, encoding: str, pack: Callable[[bytes], bytes]
    ) -> None:
        reply = self.post(server, pack(self.BODY), content_encoding=encoding)
        assert reply.json() == {"predictions": [2.0]}

    def test_a_body_that_is_not_packed_as_it_says_is_400(self, server: Server) -> None:
        for body in (self.BODY, b"", gzip.compress(self.BODY)[:-10]):
            reply = self.post(server, body, content_encoding="gzip")
            assert reply.status_code == 400
            assert error(reply).startswith("The body is not gzip: ")

    def test_an_unknown_packing_is_415(self, server: Server) -> None:
        reply = self.post(server, self.BODY, content_encoding="br")
        assert reply.status_code == 415
        assert error(reply) == ("Content-Encoding 'br' is not supported; use gzip, deflate or none")

    def test_a_large_body_is_413_before_it_is_read(self, server: Server) -> None:
        read = 0

        async def parts() -> AsyncIterator[bytes]:
            nonlocal read
            for _ in range(100):
                read += 1
                yield b" " * 10**5

        reply = self.post(server, parts())
        assert reply.status_code == 413
        assert error(reply) == "The body is larger than 1000000 bytes, the server's limit"
        assert reply.headers["connection"] == "close"
        assert read < 100
        read = 0
        assert self.post(server, parts(), content_length="10000000").status_code == 413
        assert read <= 1

    def test_a_gzip_bomb_is_413(self, server: Server) -> None:
        bomb = gzip.compress(gzip.compress(bytes(10**9 // 4)))
        for encoding in ("gzip", "gzip, gzip"):
            body = gzip.compress(bytes(10**7)) if encoding == "gzip" else bomb
            reply = self.post(server, body, content_encoding=encoding)
            assert reply.status_code == 413
            assert "larger than 1000000 bytes" in error(reply)

    def test_a_slow_body_is_408(self, tmp_path: Path) -> None:
        async def parts() -> AsyncIterator[bytes]:
            yield b"{"
            await asyncio.sleep(5)

        write_version(tmp_path, 1)
        settings = Settings(models=(ModelConfig("m", str(tmp_path)),), body_timeout_s=0.05)
        with running(settings, read_version) as server:
            reply = self.post(server, parts())
        assert reply.status_code == 408
        assert error(reply) == "The body did not arrive within 0.05 s"

    def test_a_client_that_goes_away_is_not_waited_for(self, server: Server) -> None:
        messages = iter(
            [
                {"type": "http.request", "body": b"{", "more_body": True},
                {"type": "http.disconnect"},
            ]
        )
        sent: list[MutableMapping[str, Any]] = []

        async def receive() -> MutableMapping[str, Any]:
            return next(messages)

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": self.PATH,
            "raw_path": self.PATH.encode(),
            "headers": [],
            "query_string": b"",
        }
        asyncio.run(server.app(scope, receive, send))
        assert sent[0]["status"] == 499
        assert 'status="CANCELLED"' in server.ask("GET", "/monitoring/prometheus/metrics").text

    def test_a_large_batch_is_answered(self, server: Server) -> None:
        body = json.dumps({"instances": [0.5] * 190_000}).encode()
        reply = self.post(server, body)
        assert reply.json() == {"predictions": [2.25] * 190_000}


def test_a_slow_model_is_504_and_others_are_answered(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    settings = Settings(
        models=(ModelConfig("m", str(tmp_path)),), request_timeout_s=1.0, file_system_poll_s=0
    )
    path = "/v1/models/m:predict"
    later = {"json": {"instances": [1], "signature_name": "later"}}
    model = LoadedModel({"serving_default": half_plus_two(), "later": slow(1.5)})
    with running(settings, lambda _: model) as server:
        replies = server.ask_all(
            [("POST", path, later)] + [("POST", path, {"json": {"instances": [1]}})] * 20
        )
    assert replies[0].status_code == 504
    assert error(replies[0]) == "Model 'm' version 1 did not answer in 1 s"
    assert [reply.status_code for reply in replies[1:]] == [200] * 20


def test_overload_is_503_with_a_time_to_come_back(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    settings = Settings(
        models=(ModelConfig("m", str(tmp_path)),),
        max_waiting_runs=1,
        run_threads=1,
        file_system_poll_s=0,
    )
    slow = {"json": {"instances": [1], "signature_name": "slow"}}
    with running(settings, lambda _: every_kind()) as server:
        replies = server.ask_all([("POST", "/v1/models/m:predict", slow)] * 5)
    assert sorted(reply.status_code for reply in replies) == [200, 200, 503, 503, 503]
    refused = next(reply for reply in replies if reply.status_code == 503)
    assert refused.headers["retry-after"] == "1"
    assert "has 1 requests waiting already" in error(refused)


class TestStatus:
    def test_a_status_is_that_of_tensorflow_serving(self, server: Server) -> None:
        expected = {
            "model_version_status": [
                {
                    "version": "7",
                    "state": "AVAILABLE",
                    "status": {"error_code": "OK", "error_message": ""},
                }
            ]
        }
        for path in ("/v1/models/m", "/v1/models/m/versions/7", "/V1/MODELS/m"):
            reply = server.ask("GET", path)
            assert reply.status_code == 200
            assert reply.json() == expected

    def test_versions_are_listed_newest_first_with_their_errors(self, tmp_path: Path) -> None:
        for version, offset in ((1, 1.0), (2, None), (10, 10.0)):
            write_version(tmp_path, version, offset)
        config = ModelConfig("m", str(tmp_path), All(), {"stable": 1})
        with running(Settings(models=(config,), file_system_poll_s=0), read_version) as server:
            reply = server.ask("GET", "/v1/models/m").json()
            one = server.ask("GET", "/v1/models/m/labels/stable").json()
            labelled = server.ask(
                "POST", "/v1/models/m/labels/stable:predict", content=b'{"instances": [0]}'
            )
        assert [s["version"] for s in reply["model_version_status"]] == ["10", "2", "1"]
        assert reply["model_version_status"][1] == {
            "version": "2",
            "state": "END",
            "status": {
                "error_code": "DATA_LOSS",
                "error_message": f"{tmp_path}/2/saved_model.pb: damaged",
            },
        }
        assert [s["version"] for s in one["model_version_status"]] == ["1"]
        assert labelled.json() == {"predictions": [1.0]}
        assert labelled.headers["x-model-version"] == "1"

    @pytest.mark.parametrize(
        ("path", "status", "message"),
        [
            ("/v1/models/n", 404, "Could not find any versions of model n"),
            ("/v1/models/m/versions/3", 404, "Could not find version 3 of model m"),
            ("/v1/models/m/labels/l", 400, "Unrecognized servable version label: l"),
            ("/v1/models/n/metadata", 404, "Servable not found for request: Latest(n)"),
            (
                "/v1/models/m/versions/3/metadata",
                404,
                "Servable not found for request: Specific(m, 3)",
            ),
            ("/v1/models/m/other", 400, "Malformed request: GET /v1/models/m/other"),
            ("/v1/models/", 400, "Malformed request: GET /v1/models/"),
        ],
    )
    def test_what_there_is_not_is_an_error(
        self, server: Server, path: str, status: int, message: str
    ) -> None:
        reply = server.ask("GET", path)
        assert reply.status_code == status
        assert error(reply) == message


def test_metadata_is_that_of_tensorflow_serving(server: Server) -> None:
    for path in ("/v1/models/m/metadata", "/v1/models/m/versions/7/METADATA"):
        document = server.ask("GET", path).json()
        assert document["model_spec"] == {"name": "m", "signature_name": "", "version": "7"}
        assert document["metadata"]["signature_def"]["signature_def"]["digits"] == {
            "inputs": {
                "image": {
                    "dtype": "DT_FLOAT",
                    "name": "image:0",
                    "tensor_shape": {
                        "dim": [{"size": s, "name": ""} for s in ("-1", "8", "8", "1")],
                        "unknown_rank": False,
                    },
                }
            },
            "outputs": {
                "scores": {
                    "dtype": "DT_FLOAT",
                    "name": "scores:0",
                    "tensor_shape": {
                        "dim": [{"size": s, "name": ""} for s in ("-1", "10")],
                        "unknown_rank": False,
                    },
                }
            },
            "method_name": "tensorflow/serving/predict",
            "defaults": {},
        }


def test_models_are_listed(server: Server) -> None:
    assert server.ask("GET", "/v1/models").json() == {"models": ["m"]}


def test_a_preflight_needs_an_origin(server: Server) -> None:
    path = "/v1/models/m:predict"
    good = server.ask("OPTIONS", path, headers={"origin": "https://example.org"})
    assert (good.status_code, good.content) == (200, b"")
    assert "access-control-allow-origin" not in good.headers
    for headers in ({}, {"origin": "file://x"}):
        assert server.ask("OPTIONS", path, headers=headers).status_code == 400


def test_cors_headers_come_when_they_are_turned_on(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    settings = Settings(models=(ModelConfig("m", str(tmp_path)),), cors=True, file_system_poll_s=0)
    with running(settings, read_version) as server:
        for method, path in (
            ("OPTIONS", "/v1/models/m:predict"),
            ("GET", "/v1/models/m"),
            ("GET", "/nothing"),
        ):
            reply = server.ask(method, path, headers={"origin": "https://example.org"})
            assert reply.headers["access-control-allow-origin"] == "*"
            assert reply.headers["access-control-allow-methods"] == "POST, GET"
            assert reply.headers["access-control-allow-headers"] == "Content-Type"
