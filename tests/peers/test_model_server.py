"""TensorFlow Serving's test of its whole server, run against a process of the same name.

Source of the facts: tensorflow_serving at 9d981c5c, model_servers/tensorflow_model_server_test.py.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import pinnace as tf
from peers import tf_serving
from peers.guide import hold
from pinnace.graph.codec.tensors import decode_tensor
from pinnace.proto import inference_pb2, model_service_pb2
from pinnace.proto.predict_pb2 import PredictRequest, PredictResponse
from support.golden import golden
from support.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

grpc = pytest.importorskip("grpc")
SERVICE = "/tensorflow.serving.PredictionService/"
MORE = ("saved", "many", "sequential", "distributed", "language")
PROGRAM = Path(sys.executable).with_name("tensorflow_model_server")


@dataclass(frozen=True)
class Server:
    """A server process.

    Attributes:
        url: the HTTP URL.
        grpc: the gRPC address.
        folder: folder with its models and the socket.
    """

    url: str
    grpc: str
    folder: Path

    def get(self, path: str) -> Any:
        reply = httpx.get(self.url + path, timeout=60)
        assert reply.status_code == 200, reply.text
        return reply

    def post(self, verb: str, body: Any) -> Any:
        reply = httpx.post(f"{self.url}/v1/models/default:{verb}", json=body, timeout=60)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def call(self, method: str, request: Any, kind: Any, address: str = "") -> Any:
        with grpc.insecure_channel(address or self.grpc) as channel:
            asked = channel.unary_unary(method, response_deserializer=kind.FromString)
            return asked(request.SerializeToString(), timeout=60)

    def predict(
        self, expected: float, model: str = "default", signature: str = "", **more: Any
    ) -> None:
        """Predict one number, with and without the name of the output, as in the test."""
        for names in ((), ("y",)) if more.get("by_name", True) else ((),):
            request = PredictRequest(output_filter=names)
            request.model_spec.name = model
            request.model_spec.signature_name = signature
            request.inputs["x"].dtype = 1
            request.inputs["x"].float_val.append(2.0)
            for size in more.get("shape", [1]):
                request.inputs["x"].tensor_shape.dim.add(size=size)
            address = more.get("address", "")
            found = self.call(SERVICE + "Predict", request, PredictResponse, address)
            (values,) = found.outputs.values()
            assert decode_tensor(values).ravel().tolist() == [expected]
            assert found.model_spec.signature_name == (signature or "serving_default")
            assert found.model_spec.version.value == more.get("version", 123)


@contextmanager
def serving(folder: Path, *flags: str) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / f"log-{port}"
    command = [str(PROGRAM), "--host=127.0.0.1", "--rest_api_port=0", f"--port={port}", *flags]
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        until(
            lambda: (
                process.poll() is not None
                or ("Serving on" in log.read_text() and "gRPC is served on" in log.read_text())
            ),
            120,
        )
        found = re.search(r"Serving on (http://\S+)", log.read_text())
        assert found, log.read_text()
        yield Server(found[1], f"127.0.0.1:{port}", folder)
    finally:
        process.terminate()
        process.wait(60)


def _config(**models: Path) -> str:
    rows = [f'config {{ name: "{name}" base_path: "{path}" }}' for name, path in models.items()]
    return f"model_config_list {{ {' '.join(rows)} }}"


def _half_plus(number: float) -> tf.Module:
    module = tf.Module()
    spec = tf.TensorSpec(None, tf.float32, name="x")
    module.f = tf.function(lambda x: {"y": x / 2 + number}, input_signature=[spec])
    return module


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The models of the test, each under its own name."""
    base = tmp_path_factory.mktemp("models")
    module, signatures = tf_serving.model()
    tf.saved_model.save(module, str(base / "tf2" / "123"), signatures=signatures)
    shutil.copytree(golden("v1_models/half_plus_two") / "model", base / "tf1" / "123")
    with zipfile.ZipFile(golden("text/language.zip")) as archive:
        archive.extractall(base / "language" / "123")
    three = _half_plus(3)
    tf.saved_model.save(three, str(base / "three" / "123"), signatures=three.f)
    root = tf.train.Checkpoint()
    root.v1, root.v2 = tf.Variable(3.0), tf.Variable(2.0)
    root.f = tf.function(lambda x: {"y": root.v1 * root.v2 * x})
    to_save = root.f.get_concrete_function(tf.TensorSpec(None, tf.float32, name="x"))
    tf.saved_model.save(root, str(base / "saved" / "123"), to_save)
    many = tf.train.Checkpoint()
    spec = [tf.TensorSpec(None, tf.float32, name="x")]
    many.f = tf.function(lambda x: {"y": 1.0}, input_signature=spec)  # noqa: ARG005 (as there)
    many.g = tf.function(lambda x: {"y": 2.0}, input_signature=spec)  # noqa: ARG005
    names = {"serving_default": many.f, "custom_signature_key": many.g}
    tf.saved_model.save(many, str(base / "many" / "123"), signatures=names)
    for name, strategy in (
        ("sequential", None),
        ("distributed", tf.distribute.MirroredStrategy(["/cpu:0"])),
    ):
        layers = [tf.keras.Input([1], name="x"), tf.keras.layers.Lambda(lambda x: x, name="y")]
        if strategy is None:
            model = tf.keras.Sequential(layers)
        else:
            with strategy.scope():
                one = tf.keras.layers.Dense(1, kernel_initializer="ones")
                model = tf.keras.Sequential([layers[0], one, layers[1]])
        tf.saved_model.save(model, str(base / name / "123"))
    config = base / "models.config"
    config.write_text(
        _config(
            default=base / "tf2",
            half_plus_two=base / "tf1",
            half_plus_three=base / "three",
            **{name: base / name for name in MORE},
        )
    )
    monitoring = base / "monitoring.config"
    monitoring.write_text(
        'prometheus_config { enable: true, path: "/monitoring/prometheus/metrics" }'
    )
    flags = (
        f"--model_config_file={config}",
        f"--monitoring_config_file={monitoring}",
        f"--grpc_socket_path={base / 'socket'}",
        "--grpc_channel_arguments=grpc.max_connection_age_ms=2000,grpc.lb_policy_name=grpclb",
        "--rest_api_timeout_in_ms=60000",
    )
    with serving(base, *flags) as found:
        yield found


def _status(server: Server) -> None:
    request = model_service_pb2.GetModelStatusRequest()
    request.model_spec.name = "default"
    kind = model_service_pb2.GetModelStatusResponse
    found = server.call("/tensorflow.serving.ModelService/GetModelStatus", request, kind)
    (row,) = found.model_version_status
    assert (row.version, row.status.error_code) == (123, 0)


def _metadata(server: Server) -> None:
    request = model_service_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "default"
    kind = model_service_pb2.GetModelMetadataResponse
    found = server.call(SERVICE + "GetModelMetadata", request, kind)
    assert (found.model_spec.name, found.model_spec.version.value) == ("default", 123)
    assert list(found.metadata) == ["signature_def"]


def _examples(request: Any) -> Any:
    example = request.input.example_list.examples.add()
    example.features.feature["x"].float_list.value.append(2.0)
    return request


def _classify(model: str) -> Callable[[Server], None]:
    def ask(server: Server) -> None:
        request = _examples(inference_pb2.ClassificationRequest())
        request.model_spec.name, request.model_spec.signature_name = model, "classify_x_to_y"
        found = server.call(SERVICE + "Classify", request, inference_pb2.ClassificationResponse)
        (row,) = found.result.classifications
        assert [one.score for one in row.classes] == [3.0]
        assert found.model_spec.version.value == 123

    return ask


def _regress(model: str) -> Callable[[Server], None]:
    def ask(server: Server) -> None:
        request = _examples(inference_pb2.RegressionRequest())
        request.model_spec.name, request.model_spec.signature_name = model, "regress_x_to_y"
        found = server.call(SERVICE + "Regress", request, inference_pb2.RegressionResponse)
        assert [one.value for one in found.result.regressions] == [3.0]

    return ask


def _multi(model: str) -> Callable[[Server], None]:
    def ask(server: Server) -> None:
        request = _examples(inference_pb2.MultiInferenceRequest())
        for method in ("regress", "classify"):
            task = request.tasks.add(method_name=f"tensorflow/serving/{method}")
            task.model_spec.name, task.model_spec.signature_name = model, f"{method}_x_to_y"
        kind = inference_pb2.MultiInferenceResponse
        first, second = server.call(SERVICE + "MultiInference", request, kind).results
        assert [one.value for one in first.regression_result.regressions] == [3.0]
        assert second.classification_result.classifications[0].classes[0].score == 3.0
        assert {one.model_spec.version.value for one in (first, second)} == {123}

    return ask


def _good_config(server: Server) -> None:
    server.predict(3.0, "half_plus_two")
    server.predict(4.0, "half_plus_three")


def _bad_config(server: Server) -> None:
    config = server.folder / "bad.config"
    config.write_text("improper {")
    command = [str(PROGRAM), "--rest_api_port=0", "--port=0", f"--model_config_file={config}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert "Error parsing text-format tensorflow.serving.ModelServerConfig" in done.stderr


def _reload(server: Server) -> None:
    """One server rereads its file, another does not: the first shows when it has been read."""
    config = server.folder / "changing.config"
    config.write_text(_config(half_plus_two=server.folder / "tf1"))
    flag = f"--model_config_file={config}"
    with (
        serving(server.folder, flag, "--model_config_file_poll_wait_seconds=1") as looking,
        serving(server.folder, flag, "--model_config_file_poll_wait_seconds=0") as still,
    ):
        for one in (looking, still):
            one.predict(3.0, "half_plus_two", by_name=False)
        config.write_text(_config(half_plus_three=server.folder / "three"))
        path = "/v1/models/half_plus_three"
        until(lambda: httpx.get(looking.url + path, timeout=60).status_code == 200)
        until(lambda: "AVAILABLE" in httpx.get(looking.url + path, timeout=60).text)
        looking.predict(4.0, "half_plus_three", by_name=False)
        still.predict(3.0, "half_plus_two", by_name=False)


def _rest(verb: str, body: Any, expected: Any) -> Callable[[Server], None]:
    def ask(server: Server) -> None:
        assert server.post(verb, body) == expected

    return ask


def _rest_status(server: Server) -> None:
    status = {"error_code": "OK", "error_message": ""}
    assert server.get("/v1/models/default").json() == {
        "model_version_status": [{"version": "123", "state": "AVAILABLE", "status": status}]
    }


def _rest_metadata(server: Server) -> None:
    found = server.get("/v1/models/half_plus_two/metadata").json()
    assert found["model_spec"] == {"name": "half_plus_two", "signature_name": "", "version": "123"}
    signature = found["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert signature["inputs"]["x"]["dtype"] == "DT_FLOAT"
    assert signature["method_name"] == "tensorflow/serving/predict"


def _metrics(server: Server) -> None:
    assert "# TYPE" in server.get("/monitoring/prometheus/metrics").text


def _socket(server: Server) -> None:
    server.predict(3.0, "half_plus_two", by_name=False, address=f"unix:{server.folder / 'socket'}")


def _two_signatures(server: Server) -> None:
    server.predict(2.0, "many", "custom_signature_key")
    server.predict(1.0, "many")


def _lite(messages: Any, tensor: str) -> Callable[[Server], None]:
    """The .tflite file of a version is served, not the SavedModel beside it."""

    def ask(server: Server) -> None:
        from support.lite_files import half_plus, signature_defs, without_signatures

        folder = server.folder / f"lite_{tensor}"
        shutil.copytree(server.folder / "three" / "123", folder / "123")
        content = without_signatures(half_plus(2, tensor), messages and signature_defs(**messages))
        (folder / "123" / "model.tflite").write_bytes(content)
        flags = ("--model_name=default", f"--model_base_path={folder}")
        with serving(server.folder, *flags, "--prefer_tflite_model=true") as lite:
            lite.predict(3.0, by_name=False)
            lite.predict(3.0, shape=[1, 1])
            rows = {"instances": [1.0, 2.0, 3.0]}
            assert lite.post("predict", rows) == {"predictions": [2.5, 3.0, 3.5]}
            found = lite.get("/v1/models/default/metadata").json()["metadata"]["signature_def"]
            assert list(found["signature_def"]) == ["serving_default"]
            signature = found["signature_def"]["serving_default"]
            dims = [{"size": "1", "name": ""}] * 2
            shape = {"dim": dims, "unknown_rank": False}
            told = {"dtype": "DT_FLOAT", "name": tensor, "tensor_shape": shape}
            assert signature["inputs"] == {"x": told}
            assert signature["outputs"] == {"y": {**told, "name": "y"}}
            assert signature["method_name"] == "tensorflow/serving/predict"

    return ask


def _lite_with_messages(server: Server) -> None:
    from support.lite_files import signature_def

    message = signature_def({"x": "tflite_input:0"}, {"y": "y:0"})
    _lite({"serving_default": message}, "tflite_input")(server)


_X = [{"x": 2.0}]
# A test -> the function with the same requests.
TESTS: dict[str, Callable[[Server], None]] = {
    "testGetModelStatus": _status,
    "testGetModelMetadata": _metadata,
    "testClassify": _classify("half_plus_two"),
    "testClassifyTf2": _classify("default"),
    "testRegress": _regress("half_plus_two"),
    "testRegressTf2": _regress("default"),
    "testMultiInference": _multi("half_plus_two"),
    "testMultiInferenceTf2": _multi("default"),
    "testPredictSavedModel": lambda server: server.predict(3.0),
    "testGoodModelConfig": _good_config,
    "testBadModelConfig": _bad_config,
    "testModelConfigReload": _reload,
    "testModelConfigReloadWithZeroPollPeriod": _reload,
    "testGoodGrpcChannelArgs": lambda server: server.predict(3.0, by_name=False),
    "testClassifyREST": _rest(
        "classify",
        {"signature_name": "classify_x_to_y", "examples": _X},
        {"results": [[["", 3.0]]]},
    ),
    "testRegressREST": _rest(
        "regress", {"signature_name": "regress_x_to_y", "examples": _X}, {"results": [3.0]}
    ),
    "testPredictREST": _rest(
        "predict", {"instances": [2.0, 3.0, 4.0]}, {"predictions": [3.0, 3.5, 4.0]}
    ),
    "testPredictColumnarREST": _rest(
        "predict", {"inputs": [2.0, 3.0, 4.0]}, {"outputs": [3.0, 3.5, 4.0]}
    ),
    "testGetStatusREST": _rest_status,
    "testGetModelMetadataREST": _rest_metadata,
    "testPrometheusEndpoint": _metrics,
    "testPredictUDS": _socket,
    "testPredictOnTfLite": _lite(None, "x"),
    "testPredictWithSignatureDefOnTfLite": _lite_with_messages,
    "test_tf_saved_model_save": lambda server: server.predict(12.0, "saved", by_name=False),
    "test_tf_saved_model_save_multiple_signatures": _two_signatures,
    "test_sequential_keras_saved_model_save": lambda server: server.predict(
        2.0, "sequential", by_name=False, shape=[1, 1]
    ),
    "test_distrat_sequential_keras_saved_model_save": lambda server: server.predict(
        2.0, "distributed", by_name=False, shape=[1, 1]
    ),
    "test_tf_text": lambda server: server.predict(3.0, "language"),
}
# Tests of missing features.
NOT_HERE = {
    "test_profiler_service_with_valid_trace_request": "the profiler's service; "
    "[profiles](../guide/profiler.md) are written by programs",
}


@pytest.mark.parametrize("name", TESTS)
def test_the_server_is_asked_as_there(server: Server, name: str) -> None:
    TESTS[name](server)


def test_the_guide_names_the_others() -> None:
    count = f"{len(TESTS)} of {len(TESTS) + len(NOT_HERE)} tests"
    first = (
        f"`tensorflow_model_server_test.py`, which starts servers: {count} are answered as there"
    )
    others = [f"- `{name}`: {why}" for name, why in NOT_HERE.items()]
    hold("tf_serving.md", "servers", [f"{first}. The others:", "", *others])
