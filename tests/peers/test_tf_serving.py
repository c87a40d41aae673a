"""TensorFlow Serving's tables against this server; `make peer-serving` writes their counts."""

from __future__ import annotations

import asyncio
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from peers.guide import hold
from peers.tf_serving import DIFFERENT, TABLES, Grpc, Rest, model
from pinnace.graph.codec.tensors import decode_tensor, encode_tensor
from pinnace.proto import inference_pb2
from pinnace.proto.example_pb2 import Example
from pinnace.proto.predict_pb2 import PredictRequest, PredictResponse
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.repository import Repository
from pinnace.serving.observing.metrics import Metrics
from pinnace.serving.requests.exchange import Exchange
from unit.serving.memory_server import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

grpc = pytest.importorskip("grpc")
from pinnace.serving.grpc.listening import listening  # noqa: E402 - needs grpcio

SERVICE = "/tensorflow.serving.PredictionService/"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """A repository with the model of the cases, as `m`, version 123, with a label."""
    base = tmp_path_factory.mktemp("m")
    module, signatures = model()
    tf.saved_model.save(module, str(base / "123"), signatures=signatures)
    settings = Settings(
        models=(ModelConfig("m", str(base), labels={"good": 123}),), file_system_poll_s=0
    )
    repository = Repository(settings, load_model)
    repository.start()
    yield repository
    repository.close()


def problem_of_rest(server: Server, case: Rest) -> str:
    """How the response differs; empty if it does not."""
    content = case.body if isinstance(case.body, str) else json.dumps(case.body)
    options = {"content": content} if case.method == "POST" else {}
    reply = server.ask(case.method, f"/v1/models/m{case.path}", **options)
    if reply.status_code != case.status:
        return f"{reply.status_code}: {reply.text[:200]}"
    if isinstance(case.expected, str):
        return "" if case.expected in json.loads(reply.text).get("error", "") else reply.text[:200]
    return "" if alike(json.loads(reply.text), case.expected) else reply.text[:200]


def alike(found: Any, expected: Any) -> bool:
    """Whether two JSON values are equal to the precision of float32."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(alike(found[k], expected[k]) for k in found)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(alike, found, expected))
    if isinstance(expected, float) and isinstance(found, int | float):
        return (
            math.isclose(found, expected, rel_tol=1e-6)
            or found == expected
            or (math.isnan(found) and math.isnan(expected))
        )
    return bool(found == expected)


def message_of(case: Grpc) -> Any:
    asked = case.request
    if case.call == "Predict":
        request = PredictRequest(output_filter=asked.get("outputs", ()))
        for name, value in asked["inputs"].items():
            request.inputs[name].CopyFrom(encode_tensor(np.asarray(value)))
    elif case.call == "MultiInference":
        request = inference_pb2.MultiInferenceRequest()
        for signature, method, *name in asked["tasks"]:
            task = request.tasks.add(method_name=f"tensorflow/serving/{method}")
            task.model_spec.name = name[0] if name else "m"
            task.model_spec.signature_name = signature
    else:
        kind = {"Regress": "RegressionRequest", "Classify": "ClassificationRequest"}[case.call]
        request = getattr(inference_pb2, kind)()
    for value in asked.get("x", ()):
        example = Example()
        example.features.feature["x"].float_list.value.append(value)
        request.input.example_list.examples.append(example)
    if case.call != "MultiInference":
        request.model_spec.name = asked.get("model", "m")
        request.model_spec.signature_name = asked.get("signature", "")
    return request


def read_response(call: str, data: bytes) -> Any:
    if call == "Predict":
        response = PredictResponse.FromString(data)
        return {name: decode_tensor(value).tolist() for name, value in response.outputs.items()}
    if call == "Regress":
        return _values(inference_pb2.RegressionResponse.FromString(data).result)
    if call == "Classify":
        return _classes(inference_pb2.ClassificationResponse.FromString(data).result)
    return [
        _values(one.regression_result)
        if one.HasField("regression_result")
        else _classes(one.classification_result)
        for one in inference_pb2.MultiInferenceResponse.FromString(data).results
    ]


def _values(result: Any) -> list[float]:
    return [one.value for one in result.regressions]


def _classes(result: Any) -> list[list[list[Any]]]:
    return [[[c.label, c.score] for c in row.classes] for row in result.classifications]


async def problems_of_grpc(repository: Repository, cases: list[Grpc]) -> dict[str, str]:
    """How the responses of cases differ, by name."""
    settings = repository._settings
    exchange = Exchange(settings, repository, Metrics(repository.__contains__))
    found = {}
    async with (
        listening(exchange, "127.0.0.1:0") as port,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        for case in cases:
            call = channel.unary_unary(SERVICE + case.call)
            status, answer, text = "OK", None, ""
            try:
                data = await call(message_of(case).SerializeToString(), timeout=60)
                answer = read_response(case.call, data)
            except grpc.aio.AioRpcError as error:
                status, text = error.code().name, error.details() or ""
            if status != case.status:
                found[case.name] = f"{status} {text or answer}"
            elif status == "OK" and not alike(answer, case.expected):
                found[case.name] = str(answer)
            elif status != "OK" and case.expected not in text:
                found[case.name] = text
    return found


def problems(repository: Repository, cases: Any) -> dict[str, str]:
    """The same for a table."""
    if isinstance(cases[0], Grpc):
        return asyncio.run(problems_of_grpc(repository, cases))
    server = Server(repository._settings, repository)
    found = {case.name: problem_of_rest(server, case) for case in cases}
    return {name: problem for name, problem in found.items() if problem}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_answered_as_tensorflow_serving_does(repository: Repository, table: str) -> None:
    cases = TABLES[table]
    names = [case.name for case in cases]
    assert len(set(names)) == len(names)
    assert problems(repository, cases).keys() == set(names) & DIFFERENT.keys()
    assert len(set(names) & DIFFERENT.keys()) <= 0.06 * len(names)


def test_the_guide_has_these_counts(repository: Repository) -> None:
    rows = ["| its table | cases | the same |", "|---|---|---|"]
    for table, cases in TABLES.items():
        different = problems(repository, cases)
        rows.append(f"| {table} | {len(cases)} | {len(cases) - len(different)} |")
    rows += ["", *(f"- {name}: {why}" for name, why in DIFFERENT.items())] if DIFFERENT else []
    hold("tf_serving.md", "tables", rows)
