"""The gRPC services, called by grpcio with messages of their protocols.

The clients of TensorFlow Serving, Triton and KServe ask them too, in tests/clients.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from google.protobuf.message import Message

from pinnace.framework.specs import TensorSpec
from pinnace.graph.codec.tensors import decode_tensor, encode_tensor
from pinnace.proto import inference_service_pb2 as v2
from pinnace.proto.example_pb2 import Example
from pinnace.proto.health_pb2 import HealthCheckRequest, HealthCheckResponse
from pinnace.proto.inference_pb2 import (
    ClassificationRequest,
    ClassificationResponse,
    MultiInferenceRequest,
    MultiInferenceResponse,
    RegressionRequest,
    RegressionResponse,
)
from pinnace.proto.model_service_pb2 import (
    GetModelMetadataRequest,
    GetModelMetadataResponse,
    GetModelStatusRequest,
    GetModelStatusResponse,
    ReloadConfigRequest,
    ReloadConfigResponse,
    SignatureDefMap,
)
from pinnace.proto.predict_pb2 import PredictRequest, PredictResponse
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.repository import Repository
from pinnace.serving.observing.metrics import Metrics
from pinnace.serving.requests.exchange import Exchange
from pinnace.serving.requests.policies import ApiKeys
from unit.serving.http.test_examples import OUTPUTS, TEXTS, VALUE, classes, lengths
from unit.serving.numpy_models import NumpyModel, every_kind, write_version

grpc = pytest.importorskip("grpc")
from pinnace.serving.grpc.listening import listening  # noqa: E402 - needs grpcio

R = TypeVar("R", bound=Message)
Ask = Callable[..., Awaitable[Any]]
PREDICTION = "/tensorflow.serving.PredictionService/"
MODEL = "/tensorflow.serving.ModelService/"
INFERENCE = "/inference.GRPCInferenceService/"


def _of_scores(make: Callable[[int], Any]) -> NumpyModel:
    scores = {"scores": TensorSpec([None, 2], "float32")}
    return NumpyModel(TEXTS, scores, lambda given: {"scores": make(len(given["inputs"]))})


def _of_values(make: Callable[[int], Any]) -> NumpyModel:
    return NumpyModel(TEXTS, VALUE, lambda given: {"outputs": make(len(given["inputs"]))})


def load(_: Path) -> LoadedModel:
    signatures = {
        **every_kind().signatures,
        "classes": NumpyModel(TEXTS, OUTPUTS, classes),
        "value": NumpyModel(TEXTS, VALUE, lambda g: {"outputs": lengths(g)}),
        "only_scores": _of_scores(lambda n: np.zeros((n, 2), np.float32)),
        "doubles": _of_scores(lambda n: np.zeros((n, 2))),
        "flat_scores": _of_scores(lambda n: np.zeros(n, np.float32)),
        "one_more": _of_scores(lambda n: np.zeros((n + 1, 2), np.float32)),
        "integers": NumpyModel(
            TEXTS, OUTPUTS, lambda g: {"classes": np.zeros((len(g["inputs"]), 2), np.int64)}
        ),
        "double_value": _of_values(np.zeros),
        "wide_value": _of_values(lambda n: np.zeros((n, 2), np.float32)),
        "one_more_value": _of_values(lambda n: np.zeros(n + 1, np.float32)),
    }
    return LoadedModel(signatures)


def serving(
    tmp_path: Path,
    work: Callable[[Ask], Awaitable[None]],
    keys: str = "",
    servers: tuple[bool, ...] = (True, False),
    *,
    shared_memory: bool = False,
    max_reply_bytes: int = 10**7,
) -> None:
    """Call servers on their own ports: one on grpcio's core, and one on grpc.aio."""
    write_version(tmp_path / "m", 7)
    models = (ModelConfig("m", str(tmp_path / "m")),)
    settings = Settings(
        models=models,
        file_system_poll_s=0,
        max_body_bytes=10**6,
        model_control=True,
        shared_memory=shared_memory,
        max_reply_bytes=max_reply_bytes,
    )

    async def run(repository: Repository, on_core: bool) -> None:
        exchange = Exchange(settings, repository, Metrics(lambda name: name in repository))
        if keys:
            exchange.policies.append(ApiKeys(keys))
        async with (
            listening(exchange, "127.0.0.1:0", on_core=on_core) as port,
            grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        ):

            async def ask(
                path: str,
                request: Message | bytes,
                kind: type[R],
                timeout: float | None = 60,  # Python may collect garbage, after many tests
                metadata: tuple[tuple[str, str], ...] = (),
            ) -> R:
                call = channel.unary_unary(path, response_deserializer=kind.FromString)
                data = request if isinstance(request, bytes) else request.SerializeToString()
                answer: R = await call(data, timeout=timeout, metadata=metadata)
                return answer

            await work(ask)

    for on_core in servers:
        repository = Repository(settings, load)
        repository.start()
        try:
            asyncio.run(run(repository, on_core))
        finally:
            repository.close()


def predict_request(signature: str = "", model: str = "m", **inputs: Any) -> PredictRequest:
    request = PredictRequest()
    request.model_spec.name = model
    request.model_spec.signature_name = signature
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(encode_tensor(value))
    return request


async def status_of(awaitable: Awaitable[Any]) -> tuple[str, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await awaitable
    return caught.value.code().name, caught.value.details()


def test_predict(tmp_path: Path) -> None:
    async def work(ask: Ask) -> None:
        request = predict_request(x=np.float32([1, 2]))
        response = await ask(PREDICTION + "Predict", request, PredictResponse)
        assert list(response.outputs["y"].float_val) == [2.5, 3]  # as clients read it
        assert response.model_spec.name == "m"
        assert response.model_spec.version.value == 7
        assert response.model_spec.signature_name == "serving_default"
        two = predict_request("two", a=np.float32([[1, 2]]), b=np.float32([[3, 5]]))
        two.output_filter.append("sum")
        response = await ask(PREDICTION + "Predict", two, PredictResponse)
        assert list(response.outputs) == ["sum"]
        # A typed list that is shorter than the shape is filled with its last value.
        padded = predict_request(x=np.float32([0]))
        padded.inputs["x"].Clear()
        padded.inputs["x"].dtype = 1
        padded.inputs["x"].tensor_shape.dim.add(size=3)
        padded.inputs["x"].float_val.extend([1, 3])
        response = await ask(PREDICTION + "Predict", padded, PredictResponse)
        assert decode_tensor(response.outputs["y"]).tolist() == [2.5, 3.5, 3.5]

    serving(tmp_path, work)


def test_what_is_wrong_has_its_status(tmp_path: Path) -> None:
    x = np.float32([1])
    cases: list[tuple[Message | bytes, str, str]] = [
        (predict_request(model="", x=x), "INVALID_ARGUMENT", "Missing ModelSpec"),
        (predict_request(model="n", x=x), "NOT_FOUND", "Servable not found"),
        (predict_request("n", x=x), "FAILED_PRECONDITION", 'signature key "n" not found'),
        (predict_request(y=x), "INVALID_ARGUMENT", "input tensor alias not found in signature: y"),
        (
            predict_request(x=x, y=x, z=x),
            "INVALID_ARGUMENT",
            "len({x}). Sent extra: {y,z}. Missing but required: {}.",
        ),
        (predict_request(), "INVALID_ARGUMENT", "Sent extra: {}. Missing but required: {x}."),
        (
            predict_request(x=np.int32([1])),
            "INVALID_ARGUMENT",
            "(Expects arg[0] to be float but int32 is provided)",
        ),
        (predict_request("value_error", x=x), "INTERNAL", "a fault in the model"),
        (predict_request("not_found", x=x), "NOT_FOUND", "no key 'x'"),
        (b"\xff\xff", "INVALID_ARGUMENT", "is not a PredictRequest"),
        (predict_request(x=np.arange(10**6, dtype=np.float32)), "RESOURCE_EXHAUSTED", ""),
    ]

    async def work(ask: Ask) -> None:
        for request, code, message in cases:
            found = await status_of(ask(PREDICTION + "Predict", request, PredictResponse))
            assert found[0] == code, (code, found)
            assert message in found[1]
        filtered = predict_request(x=x)
        filtered.output_filter.append("z")
        found = await status_of(ask(PREDICTION + "Predict", filtered, PredictResponse))
        assert found == (
            "INVALID_ARGUMENT",
            (
                "output tensor alias not found in signature: z "
                "Outputs expected to be in the set {y}."
            ),
        )
        filtered.output_filter[:] = ["y", "y"]
        found = await status_of(ask(PREDICTION + "Predict", filtered, PredictResponse))
        assert found == ("INVALID_ARGUMENT", "duplicate output tensor alias: y")
        slow = ask(PREDICTION + "Predict", predict_request("slow", x=x), PredictResponse, 0.05)
        assert (await status_of(slow))[0] == "DEADLINE_EXCEEDED"

    serving(tmp_path, work)


def test_classify_regress_and_both(tmp_path: Path) -> None:
    examples = []
    for value in (0.25, 0.5):
        example = Example()
        example.features.feature["x"].float_list.value.append(value)
        examples.append(example)

    async def work(ask: Ask) -> None:
        classify = ClassificationRequest()
        classify.model_spec.name, classify.model_spec.signature_name = "m", "classes"
        classify.input.example_list.examples.extend(examples)
        response = await ask(PREDICTION + "Classify", classify, ClassificationResponse)
        rows = [
            [(c.label, c.score) for c in row.classes] for row in response.result.classifications
        ]
        assert rows == [[("low", 0.75), ("high", 0.25)], [("low", 0.5), ("high", 0.5)]]
        regress = RegressionRequest()
        regress.model_spec.name, regress.model_spec.signature_name = "m", "value"
        regress.input.example_list_with_context.examples.extend([examples[0], Example()])
        regress.input.example_list_with_context.context.CopyFrom(examples[1])
        found = await ask(PREDICTION + "Regress", regress, RegressionResponse)
        assert [r.value for r in found.result.regressions] == [0.25, 0.5]
        multi = MultiInferenceRequest(input=classify.input)
        multi.tasks.add(model_spec=classify.model_spec, method_name="tensorflow/serving/classify")
        multi.tasks.add(model_spec=regress.model_spec, method_name="tensorflow/serving/regress")
        both = await ask(PREDICTION + "MultiInference", multi, MultiInferenceResponse)
        assert both.results[0].classification_result == response.result
        assert [r.value for r in both.results[1].regression_result.regressions] == [0.25, 0.5]
        multi.tasks[0].method_name = "other"
        found_status = await status_of(
            ask(PREDICTION + "MultiInference", multi, MultiInferenceResponse)
        )
        assert found_status == (
            "UNIMPLEMENTED",
            (
                "Unsupported signature method_name: other; must be tensorflow/serving/classify or "
                "tensorflow/serving/regress"
            ),
        )

    serving(tmp_path, work)


def test_what_is_no_classify_or_regress_is_refused(tmp_path: Path) -> None:
    """Statuses and messages of TensorFlow Serving's own tests of these services."""
    kinds = {
        "Classify": (ClassificationRequest, ClassificationResponse),
        "Regress": (RegressionRequest, RegressionResponse),
    }
    cases = [
        ("Classify", "none", "No signature was found with the name: none"),
        ("Regress", "none", "No signature was found with the name: none"),
        ("Classify", "serving_default", "does not read Examples"),
        ("Classify", "two", "Expected one input Tensor."),
        ("Classify", "value", 'contain at least one of "classes" or "scores"'),
        ("Regress", "only_scores", "No regression outputs found"),
        ("Regress", "classes", "Expected one output Tensor."),
        ("Classify", "doubles", "Expected scores Tensor of DT_FLOAT. Got: DT_DOUBLE"),
        ("Classify", "integers", "Expected classes Tensor of DT_STRING. Got: DT_INT64"),
        ("Regress", "double_value", "Expected outputs Tensor of DT_FLOAT. Got: DT_DOUBLE"),
        ("Classify", "flat_scores", "Expected Tensor shape: [batch_size num_classes]"),
        ("Regress", "wide_value", "[batch_size, 1] but got [1, 2]"),
        ("Classify", "one_more", "Expected scores output batch size of 1. Got: 2"),
        ("Regress", "one_more_value", "did not match output batch size: 1 vs. 2"),
    ]

    async def work(ask: Ask) -> None:
        for method, signature, message in cases:
            kind, response = kinds[method]
            request = kind()
            request.model_spec.name, request.model_spec.signature_name = "m", signature
            request.input.example_list.examples.append(Example())
            code, said = await status_of(ask(PREDICTION + method, request, response))
            assert code == "INVALID_ARGUMENT", (method, signature, said)
            assert message in said

    serving(tmp_path, work)


def test_tasks_of_one_request_are_of_one_model_and_differ(tmp_path: Path) -> None:
    async def work(ask: Ask) -> None:
        for names, message in (
            ([("m", "value"), ("m", "value")], "Duplicate evaluation of signature: value"),
            ([("m", ""), ("m", "serving_default")], "Duplicate evaluation of signature: serving"),
            ([("m", "value"), ("n", "classes")], "must access the same model name."),
            ([("", "value")], "Found ModelSpec with an empty model name."),
        ):
            multi = MultiInferenceRequest()
            multi.input.example_list.examples.append(Example())
            for name, signature in names:
                task = multi.tasks.add(method_name="tensorflow/serving/regress")
                task.model_spec.name, task.model_spec.signature_name = name, signature
            path = PREDICTION + "MultiInference"
            code, said = await status_of(ask(path, multi, MultiInferenceResponse))
            assert code == "INVALID_ARGUMENT"
            assert message in said

    serving(tmp_path, work)


def test_answers_to_tasks_together_are_refused(tmp_path: Path) -> None:
    """Each of them is within its limit."""
    kinds = {"value": "tensorflow/serving/regress", "classes": "tensorflow/serving/classify"}
    sizes: list[int] = []

    def asked(*names: str) -> MultiInferenceRequest:
        multi = MultiInferenceRequest()
        for name in names:
            task = multi.tasks.add(method_name=kinds[name])
            task.model_spec.name, task.model_spec.signature_name = "m", name
        for value in range(1, 400):
            features = multi.input.example_list.examples.add().features
            features.feature["x"].float_list.value.append(value)
        return multi

    async def measure(ask: Ask) -> None:
        for name in kinds:
            found = await ask(PREDICTION + "MultiInference", asked(name), MultiInferenceResponse)
            sizes.append(found.results[0].ByteSize())

    async def together(ask: Ask) -> None:
        for names, is_refused in ((["value"], False), (["classes"], False), (list(kinds), True)):
            answer = ask(PREDICTION + "MultiInference", asked(*names), MultiInferenceResponse)
            if not is_refused:
                assert len((await answer).results) == 1
                continue
            code, said = await status_of(answer)
            assert code == "RESOURCE_EXHAUSTED"
            assert f"an answer may have {most}" in said

    serving(tmp_path / "1", measure, servers=(True,))
    most = sum(sizes[:2]) - 1
    serving(tmp_path / "2", together, max_reply_bytes=most)


def test_tasks_do_not_multiply_what_a_request_may_take(tmp_path: Path) -> None:
    multi = MultiInferenceRequest()
    for i in range(64):
        task = multi.tasks.add(method_name="tensorflow/serving/regress")
        task.model_spec.name, task.model_spec.signature_name = "m", f"value_{i}"
    multi.input.example_list.examples.extend([Example()] * 10**5)

    async def work(ask: Ask) -> None:
        path = PREDICTION + "MultiInference"
        code, said = await status_of(ask(path, multi, MultiInferenceResponse))
        assert code == "RESOURCE_EXHAUSTED"
        assert "6400000 answers to 64 tasks" in said

    serving(tmp_path, work)


def test_metadata_status_and_reload(tmp_path: Path) -> None:
    write_version(tmp_path / "n", 3)

    async def work(ask: Ask) -> None:
        asked = GetModelMetadataRequest(metadata_field=["signature_def"])
        asked.model_spec.name = "m"
        metadata = await ask(PREDICTION + "GetModelMetadata", asked, GetModelMetadataResponse)
        packed = metadata.metadata["signature_def"]
        assert packed.type_url.endswith("/tensorflow.serving.SignatureDefMap")
        signature = SignatureDefMap.FromString(packed.value).signature_def["digits"]
        sizes = [dim.size for dim in signature.inputs["image"].tensor_shape.dim]
        assert sizes == [-1, 8, 8, 1]
        status = GetModelStatusRequest()
        status.model_spec.name = "m"
        found = await ask(MODEL + "GetModelStatus", status, GetModelStatusResponse)
        assert [(s.version, s.state) for s in found.model_version_status] == [(7, 30)]
        reload = ReloadConfigRequest()
        reload.config.model_config_list.config.add(name="n", base_path=str(tmp_path / "n"))
        done = await ask(MODEL + "HandleReloadConfigRequest", reload, ReloadConfigResponse)
        assert done.status.error_code == 0
        code, _ = await status_of(ask(MODEL + "GetModelStatus", status, GetModelStatusResponse))
        assert code == "NOT_FOUND"
        status.model_spec.name = "n"
        found = await ask(MODEL + "GetModelStatus", status, GetModelStatusResponse)
        assert [(s.version, s.state) for s in found.model_version_status] == [(3, 30)]

    serving(tmp_path, work)


def test_a_reload_that_is_refused_changes_nothing(tmp_path: Path) -> None:
    write_version(tmp_path / "n", 3)
    (tmp_path / "empty").mkdir()
    at = {name: str(tmp_path / name) for name in ("n", "missing", "empty")}

    async def work(ask: Ask) -> None:
        async def reload(*configs: tuple[str, str], **labels: int) -> tuple[int, str]:
            message = ReloadConfigRequest()
            for name, path in configs:
                config = message.config.model_config_list.config.add(name=name, base_path=path)
                config.version_labels.update(labels)
            done = await ask(MODEL + "HandleReloadConfigRequest", message, ReloadConfigResponse)
            return done.status.error_code, done.status.error_message

        for name, reason in (
            ("missing", "cannot be"),
            ("empty", "no version"),
        ):
            code, text = await reload(("n", at["n"]), (name, at[name]))
            assert code == 2  # UNKNOWN, as in TensorFlow Serving
            assert text.startswith("1 model(s) did not become available: {")
            assert reason in text
        code, text = await reload(("n", "models/n"))
        assert code == 3
        expected = "Expected model n to have an absolute path or URI; got base_path()=models/n"
        assert text == expected
        code, text = await reload(("n", at["n"]), canary=99)
        assert code == 9
        assert "'canary' names version 99" in text
        code, text = await reload(("n", at["missing"]))
        assert code == 2  # and the label before it has no effect
        status = GetModelStatusRequest()
        status.model_spec.name = "m"
        found = await ask(MODEL + "GetModelStatus", status, GetModelStatusResponse)
        assert [(s.version, s.state) for s in found.model_version_status] == [(7, 30)]
        message = ReloadConfigRequest(metric_names=["x"])
        message.config.model_config_list.config.add(name="n", base_path=at["n"])
        done = await ask(MODEL + "HandleReloadConfigRequest", message, ReloadConfigResponse)
        assert done.status.error_code == 12
        assert await reload(("n", at["n"]), canary=3) == (0, "")

    serving(tmp_path, work)


def test_the_open_inference_protocol(tmp_path: Path) -> None:
    async def work(ask: Ask) -> None:
        live = await ask(INFERENCE + "ServerLive", v2.ServerLiveRequest(), v2.ServerLiveResponse)
        ready = await ask(
            INFERENCE + "ModelReady", v2.ModelReadyRequest(name="m"), v2.ModelReadyResponse
        )
        assert live.live
        assert ready.ready
        metadata = await ask(
            INFERENCE + "ModelMetadata", v2.ModelMetadataRequest(name="m"), v2.ModelMetadataResponse
        )
        assert [(t.name, t.datatype, list(t.shape)) for t in metadata.inputs] == [
            ("x", "FP32", [-1])
        ]
        typed = v2.ModelInferRequest(model_name="m", id="7")
        tensor = typed.inputs.add(name="x", datatype="FP32", shape=[2])
        tensor.contents.fp32_contents.extend([1, 2])
        response = await ask(INFERENCE + "ModelInfer", typed, v2.ModelInferResponse)
        assert response.raw_output_contents == [np.float32([2.5, 3]).tobytes()]  # as Triton's
        assert (response.id, response.model_version) == ("7", "7")
        raw = v2.ModelInferRequest(model_name="m", model_version="7")
        raw.inputs.add(name="x", datatype="FP32", shape=[2])
        raw.raw_input_contents.append(np.float32([1, 2]).tobytes())
        response = await ask(INFERENCE + "ModelInfer", raw, v2.ModelInferResponse)
        assert response.raw_output_contents == [np.float32([2.5, 3]).tobytes()]
        assert not response.outputs[0].HasField("contents")
        half = v2.ModelInferRequest(model_name="m")
        half.parameters["signature_name"].string_param = "float16"
        half.inputs.add(name="x", datatype="FP16", shape=[2])
        half.raw_input_contents.append(np.float16([1, 2]).tobytes())
        response = await ask(INFERENCE + "ModelInfer", half, v2.ModelInferResponse)
        assert response.raw_output_contents == [np.float16([1, 2]).tobytes()]

    serving(tmp_path, work)


def test_tensors_that_lie_are_refused(tmp_path: Path) -> None:
    def request(shape: list[int], raw: bytes | None, **more: Any) -> v2.ModelInferRequest:
        message = v2.ModelInferRequest(model_name="m", **more)
        message.inputs.add(name="x", datatype="FP32", shape=shape)
        if raw is not None:
            message.raw_input_contents.append(raw)
        return message

    small = request([1], None)
    small.parameters["signature_name"].string_param = "echo_int8"
    small.inputs[0].datatype = "INT8"
    small.inputs[0].contents.int_contents.append(300)
    cases = [
        request([2], b"1234"),
        request([-1], b"1234"),
        request([2**40, 2**40], b"1234"),
        request([1], None),
        request([1], b"1234", model_version="one"),
        small,
    ]

    async def work(ask: Ask) -> None:
        for message in cases:
            found = await status_of(ask(INFERENCE + "ModelInfer", message, v2.ModelInferResponse))
            assert found[0] == "INVALID_ARGUMENT", found

    serving(tmp_path, work)


def test_models_are_unloaded_and_loaded_and_health_tells(tmp_path: Path) -> None:
    health = "/grpc.health.v1.Health/Check"

    async def work(ask: Ask) -> None:
        async def status(service: str) -> int:
            found = await ask(health, HealthCheckRequest(service=service), HealthCheckResponse)
            return int(found.status)

        assert [await status(name) for name in ("", "m", "none")] == [1, 1, 3]
        unload = v2.RepositoryModelUnloadRequest(model_name="m")
        await ask(INFERENCE + "RepositoryModelUnload", unload, v2.RepositoryModelUnloadResponse)
        assert await status("m") == 2
        index = await ask(
            INFERENCE + "RepositoryIndex",
            v2.RepositoryIndexRequest(),
            v2.RepositoryIndexResponse,
        )
        assert [(m.name, m.version, m.state) for m in index.models] == [("m", "7", "UNAVAILABLE")]
        load_again = v2.RepositoryModelLoadRequest(model_name="m")
        await ask(INFERENCE + "RepositoryModelLoad", load_again, v2.RepositoryModelLoadResponse)
        assert await status("m") == 1
        unknown = v2.RepositoryModelLoadRequest(model_name="none")
        found = await status_of(
            ask(INFERENCE + "RepositoryModelLoad", unknown, v2.RepositoryModelLoadResponse)
        )
        assert found[0] == "NOT_FOUND"

    serving(tmp_path, work)


def test_every_method_but_those_of_health_needs_a_key(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("right\n")
    x = predict_request(x=np.float32([1]))
    status = GetModelStatusRequest()
    status.model_spec.name = "m"
    unload = v2.RepositoryModelUnloadRequest(model_name="m")
    calls: list[tuple[str, Message, type[Message]]] = [
        (PREDICTION + "Predict", x, PredictResponse),
        (MODEL + "GetModelStatus", status, GetModelStatusResponse),
        (INFERENCE + "RepositoryModelUnload", unload, v2.RepositoryModelUnloadResponse),
    ]

    async def work(ask: Ask) -> None:
        for path, request, kind in calls:
            code, details = await status_of(ask(path, request, kind))
            assert (code, details[:21]) == ("UNAUTHENTICATED", "An API key is needed:")
            wrong = (("x-api-key", "wrong"),)
            code, details = await status_of(ask(path, request, kind, metadata=wrong))
            assert (code, details) == ("UNAUTHENTICATED", "The API key is not valid")
        for metadata in ((("x-api-key", "right"),), (("authorization", "Bearer right"),)):
            response = await ask(*calls[0], metadata=metadata)
            assert list(response.outputs["y"].float_val) == [2.5]
        path = "/grpc.health.v1.Health/Check"
        healthy = await ask(path, HealthCheckRequest(), HealthCheckResponse)
        assert healthy.status == HealthCheckResponse.SERVING

    serving(tmp_path, work, str(file))
