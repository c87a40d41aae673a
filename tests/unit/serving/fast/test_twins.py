"""The fast server gives the replies of the plain server, request by request and byte for byte."""

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import Message

from pinnace.graph.codec.tensors import encode_tensor
from pinnace.proto import inference_service_pb2 as v2
from pinnace.proto.predict_pb2 import PredictRequest, PredictResponse
from pinnace.serving.requests.datatypes import datatype_of, write_tensor
from unit.serving.http_requests import (
    INFER,
    PREDICT,
    Array,
    Way,
    infer,
    replies,
    request,
    rows,
    tensor,
)

NPY = b"Content-Type: application/x-npy"


def npy(array: Array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


BODIES = [
    rows(1, 2.5, -3e2),
    rows(1, signature_name="echo_float64"),
    rows([[1, 2], [3, 4]], signature_name="echo_float32"),
    rows([1, 2], [3, 4], signature_name="echo_float32"),
    rows([1, 2], [3], signature_name="echo_float32"),
    rows([1, [2]], [3, 4], signature_name="echo_float32"),
    rows([], signature_name="echo_float32"),
    rows(True, signature_name="echo_float32"),
    rows(None, signature_name="echo_float32"),
    rows("1", signature_name="echo_float32"),
    rows([1, "x"], signature_name="echo_float32"),
    rows([1, {"a": 1}], signature_name="echo_float32"),
    rows(2**63, 2**64, 10**400, signature_name="echo_float64"),
    rows(1, signature_name="no such"),
    rows(1, signature_name="a[b"),
    rows(1, signature_name=5),
    rows(),
    b'{"instances":[1],"instances":[2]}',
    b'{"instances":[1]} trailing',
    b'{"instances":[NaN,1e999,-0]}',
    b'{"instances":[1.0000000000000000000000001,0.1,123456789012345678901234567890]}',
    b'{"inputs":[1]}',
    b'{"inputs":{"x":[1]},"other":[[[]]]}',
    b'{"instances":1}',
    b"{}",
    b"[]",
    b"",
    b"\xff",
    b"{",
    rows(1, signature_name="value_error"),
    rows(1, signature_name="memory_error"),
    rows(1, signature_name="not_found"),
    rows("a", {"b64": "/w=="}, signature_name="text_bytes"),
    rows(1, 2, signature_name="total"),
    rows({"a": [1, 2], "b": [3, 4]}, signature_name="two"),
]
OTHERS = [
    request(npy(np.float32([1, 2])), PREDICT, NPY),
    request(npy(np.float32([1, 2])), PREDICT, NPY, b"Accept: application/x-npy"),
    request(npy(np.float64([1, 2])), PREDICT, NPY, b"X-Signature-Name: echo_float64"),
    request(npy(np.float64([1, 2])), PREDICT, NPY),
    request(b"no array", PREDICT, NPY),
    request(rows(1), PREDICT, b"Accept: application/x-npy"),
    request(rows(1), b"/v1/models/m/versions/7:predict"),
    request(rows(1), b"/v1/models/m/versions/8:predict"),
    request(rows(1), b"/v1/models/m/versions/99999999999999999999:predict"),
    request(rows(1), b"/v1/models/m/labels/none:predict"),
    request(rows(1), b"/V1/MODELS/m:PREDICT"),
    request(rows(1), b"/v1/models/%6d:predict"),
    request(rows(1), b"/v1/models/m:predict?x=1"),
    request(rows(1), b"/v1/models/other:predict"),
    request(rows(1), b"/v1/models/m:explode"),
    request(rows(1), PREDICT, b"X-Request-Timeout-Ms: 1000"),
    request(rows(1), PREDICT, b"X-Request-Timeout-Ms: soon"),
    request(rows(1, signature_name="slow"), PREDICT, b"X-Request-Timeout-Ms: 50"),
    request(rows(*range(300_000)), PREDICT),
    request(b"x" * 2_000_000, PREDICT),
    request(rows(1), PREDICT, b"Content-Encoding: gzip"),
    request(b"", PREDICT, method=b"GET"),
    request(b"", b"/healthz", method=b"GET"),
]


X = np.float32([1, 2])
SOME = {"signature_name": "echo_float32", "binary_data_output": True}
TWO = [tensor(name, np.float32([[1, 2]]), name == "a") for name in "ab"]
INFERS = [
    infer(tensor("x", X)),
    infer(tensor("x", X), parameters={"binary_data_output": True}),
    infer(tensor("x", X, is_binary=False)),
    infer(tensor("x", X, is_binary=False), id="one", parameters={"binary_data_output": True}),
    infer(tensor("x", X.reshape(2, 1)), parameters=SOME),
    infer(*TWO, parameters={"signature_name": "two"}),
    infer(*TWO, parameters={"signature_name": "two"}, outputs=[{"name": "difference"}]),
    infer(*TWO, parameters={"signature_name": "two"}, outputs=[{"name": "product"}]),
    infer(tensor("x", X), extra=b"more"),
    infer(tensor("x", X), lies=1),
    infer(tensor("x", X), lies=10**6),
    infer(tensor("y", X)),
    infer(tensor("x", np.float64([1]))),
    infer(tensor("x", X), tensor("x", X)),
    infer(),
    request(X.tobytes(), INFER, b"Inference-Header-Content-Length: 0"),
    request(X.tobytes(), INFER, b"Inference-Header-Content-Length: -1"),
    request(b"{", INFER),
    request(b"{}", b"/v2/models/m/versions/7/infer"),
    request(b"{}", b"/v2/models/m/versions/8/infer"),
    request(b"{}", b"/v2/models/other/infer"),
]


KEYED = [
    request(rows(1), path, *headers)
    for path in (PREDICT, b"/v1/models/%6d:predict", b"/v1/models/none:predict", b"/healthz")
    for headers in (
        [b"Authorization: Bearer right"],
        [b"authorization: bearer   right"],
        [b"X-API-Key: right"],
        [b"X-API-Key: wrong", b"Authorization: Bearer right"],
        [b"X-API-Key: hashed"],
        [b"X-API-Key:"],
        [b"Authorization: Basic right"],
        [b"Authorization: Bearer"],
        [b"Authorization: Bearer right right"],
        [b"X-API-Key: righ\xe9"],
    )
]
PACKED = [
    request(rows(*range(size)), PREDICT, b"Accept-Encoding: " + encoding)
    for size in (1, 1000)
    for encoding in (b"gzip", b"identity", b"deflate, gzip;q=0.5", b"gzip;q=0", b"*", b"")
]
KEY_LINES = "right  somebody\n# nobody\nsha256:" + hashlib.sha256(b"hashed").hexdigest() + "\n"
POLICIES: dict[str, dict[str, Any]] = {
    "keys": {"api_keys_file": "keys"},
    "concurrency": {"max_concurrent_requests": 1},
    "bytes": {"max_inflight_bytes": 100},
    "body limits": {"max_body_bytes_of": (("m", 60), ("other", 5))},
    "gzip": {"gzip": True},
    "cors": {"cors": True},
    "run limits": {"max_run_s": 0.1, "max_run_bytes": 10**6},
    "access log": {"access_log": "log"},
    "recording": {"record": "records"},
    "everything": {
        "api_keys_file": "keys",
        "gzip": True,
        "access_log": "log",
        "record": "records",
        "max_concurrent_requests": 10,
        "max_run_s": 10.0,
    },
}


@pytest.mark.parametrize("policy", POLICIES)
def test_both_ways_give_the_same_bytes_with_each_policy(tmp_path: Path, policy: str) -> None:
    requests = [
        *(request(body) for body in BODIES),
        *(request(body, PREDICT, b"X-API-Key: right") for body in BODIES),
        *OTHERS,
        *INFERS,
        *KEYED,
        *PACKED,
    ]
    found = []
    for way in (Way.HOT, Way.PLAIN):
        if way is Way.HOT and "cors" in POLICIES[policy]:
            way = Way.APPLICATION  # the hot front declines
        folder = tmp_path / way.name
        folder.mkdir()
        (folder / "keys").write_text(KEY_LINES)
        more = dict(POLICIES[policy])
        for name in {"api_keys_file", "access_log", "record"} & more.keys():
            more[name] = str(folder / more[name])
        found.append(replies(folder, way, requests, **more))
    for text, one, other in zip(requests, *found, strict=True):
        assert one == other, text[:200]
    assert any(reply.startswith(b"HTTP/1.1 200 OK") for reply in found[0])
    if "api_keys_file" in POLICIES[policy]:
        refused = [b"HTTP/1.1 401 " in reply for reply in found[0]]
        assert refused[: len(BODIES)] == [True] * len(BODIES)
        assert not any(refused[len(BODIES) : 2 * len(BODIES)])
    if policy == "gzip":
        packed = [reply for reply in found[0] if b"content-encoding: gzip" in reply]
        assert len(packed) == 3


def test_all_ways_give_the_same_bytes(tmp_path: Path) -> None:
    requests = [request(body) for body in BODIES] + OTHERS + INFERS
    hot, application, plain = (replies(tmp_path / way.name, way, requests) for way in Way)
    for text, *found in zip(requests, hot, application, plain, strict=True):
        assert found == [found[2]] * 3, text[:200]
    assert sum(b"HTTP/1.1 200 OK" in reply for reply in hot) >= 20


def test_both_grpc_servers_give_the_same_answers(tmp_path: Path) -> None:
    """Each message is sent four times with other numbers: its form is known from the third on."""
    services = pytest.importorskip("unit.serving.grpc.test_services")
    grpc = services.grpc
    found: list[list[object]] = []

    async def work(ask: Any) -> None:
        answers: list[object] = []
        for number in range(4):
            for path, message, kind in grpc_requests(float(number)):
                try:
                    answers.append(await ask(path, message, kind))
                except grpc.aio.AioRpcError as error:
                    answers.append((error.code(), error.details()))
        found.append(answers)

    services.serving(tmp_path, work)
    core, aio = found
    assert core == aio
    assert sum(isinstance(answer, Message) for answer in core) >= 20


def grpc_requests(number: float) -> list[tuple[str, Message | bytes, type[Message]]]:
    """Messages of every kind that the core server may know by their prefix."""

    def predict(array: Array, signature: str = "", *wanted: str, **more: Any) -> PredictRequest:
        message = PredictRequest()
        message.model_spec.name = more.get("model", "m")
        message.model_spec.signature_name = signature
        message.inputs["x"].CopyFrom(encode_tensor(array))
        message.output_filter.extend(wanted)
        return message

    def infer(array: Array, signature: str = "serving_default", **more: Any) -> Any:
        message = v2.ModelInferRequest(model_name="m", **more)
        message.parameters["signature_name"].string_param = signature
        message.inputs.add(name="x", datatype=datatype_of(array), shape=array.shape)
        message.raw_input_contents.append(write_tensor(array))
        return message

    x = np.float32([number, 2 * number])
    listed = predict(x)
    listed.inputs["x"].Clear()
    listed.inputs["x"].dtype = 1
    listed.inputs["x"].tensor_shape.dim.add(size=2)
    listed.inputs["x"].float_val.extend(x.tolist())
    predicts: list[PredictRequest | bytes] = [
        predict(x),
        listed,
        predict(x.reshape(2, 1), "echo_float32"),
        predict(x.astype(np.float64), "echo_float64"),
        predict(x.astype(np.int32), "echo_int32"),
        predict(x.astype(np.float64)),
        predict(x, "", "y"),
        predict(x, "", "z"),
        predict(x, "none"),
        predict(x, "value_error"),
        predict(x, model="other"),
        predict(np.zeros(0, np.float32)),
        predict(x).SerializeToString()[:-1],
        predict(x).SerializeToString() + b"\xff",
    ]
    infers = [
        infer(x),
        infer(x, id="one"),
        infer(x, model_version="7"),
        infer(x, model_version="8"),
        infer(x.reshape(2, 1), "echo_float32"),
        infer(x.astype(np.float64)),
        infer(x, "none"),
    ]
    return [
        *(
            ("/tensorflow.serving.PredictionService/Predict", message, PredictResponse)
            for message in predicts
        ),
        *(
            ("/inference.GRPCInferenceService/ModelInfer", message, v2.ModelInferResponse)
            for message in infers
        ),
    ]
