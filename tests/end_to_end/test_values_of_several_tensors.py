"""Sparse and ragged inputs of version 1 signatures, in Python, CLI, REST, gRPC and ONNX.

TensorFlow recorded the results; it feeds each component of a value separately, as is done here.
"""

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import dtypes
from pinnace.graph.codec.tensors import decode_tensor, encode_tensor
from pinnace.proto.predict_pb2 import PredictRequest, PredictResponse
from support.command_line import pinnace
from support.golden import golden
from support.recorded import recorded_calls

PARTS = {
    "sparse": ("indices", "values", "dense_shape"),
    "slices": ("values", "indices", "dense_shape"),
    "ragged": ("values", "row_splits"),
    "twice ragged": ("values", "row_splits", "row_splits_1"),
}
# Values that consist of several tensors, and their components.
MODELS = {
    "sparse_in_and_out": {"x": "sparse"},
    "sparse_beside_names_with_signs": {"x": "sparse"},
    "two_sparse_of_other_dtypes": {"words": "sparse", "counts": "sparse", "joined": "sparse"},
    "transformed_features": {"words": "sparse"},
    "parsed_to_sparse": {"ids": "sparse"},
    "ragged_in_and_out": {"r": "ragged", "q": "twice ragged", "w": "ragged", "words": "ragged"},
    "slices_in_and_out": {"g": "slices", "doubled": "slices"},
}
CALLS = [
    (name, inputs, outputs)
    for name in MODELS
    for _, inputs, outputs in recorded_calls(golden(f"v1_models/{name}/io.npz"))
]
every_call = pytest.mark.parametrize(
    ("name", "inputs", "outputs"), CALLS, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(CALLS)]
)
Arrays = dict[str, np.ndarray[Any, Any]]


def by_parts(name: str, arrays: Arrays) -> Arrays:
    """Recorded arrays by the names that components have here."""
    found = {}
    for key, value in arrays.items():
        whole, _, number = key.rpartition("|")
        found[f"{whole}/{PARTS[MODELS[name][whole]][int(number)]}" if whole else key] = value
    return found


def model_of(name: str) -> Path:
    return golden(f"v1_models/{name}/model")


def assert_equal(found: dict[str, Any], wanted: Arrays) -> None:
    assert sorted(found) == sorted(wanted)
    for key, value in wanted.items():
        got = np.asarray(found[key], value.dtype).reshape(value.shape)
        if value.dtype == object:
            texts = [one.encode() if isinstance(one, str) else one for one in got.ravel()]
            assert texts == value.ravel().tolist(), key
        else:
            np.testing.assert_allclose(got, value, rtol=1e-5, atol=1e-6, err_msg=key)


def as_json(value: np.ndarray[Any, Any]) -> Any:
    plain = value.tolist()
    return [one.decode() for one in plain] if value.dtype == object else plain


@every_call
def test_arrays_by_the_names_of_parts(name: str, inputs: Arrays, outputs: Arrays) -> None:
    function = tf.saved_model.load(model_of(name)).signatures["serving_default"]
    assert_equal(function.run_arrays(by_parts(name, inputs)), by_parts(name, outputs))


@every_call
def test_the_command_line(name: str, inputs: Arrays, outputs: Arrays, tmp_path: Path) -> None:
    arguments: list[str | Path] = ["run", model_of(name), "--json"]
    for key, value in by_parts(name, inputs).items():
        file = tmp_path / f"{len(arguments)}.npy"
        if value.dtype == object:
            file = file.with_suffix(".json")
            file.write_text(json.dumps(as_json(value)))
        else:
            np.save(file, value)
        arguments += ["--inputs", f"{key}={file}"]
    answer = pinnace(*arguments)
    assert answer.code == 0, answer.err
    assert_equal(json.loads(answer.out), by_parts(name, outputs))


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """The REST and gRPC ports of a server process with all models."""
    pytest.importorskip("grpc")
    folder = tmp_path_factory.mktemp("served")
    found = []
    for _ in range(2):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            found.append(probe.getsockname()[1])
    command = [sys.executable, "-m", "pinnace.deploy.cli.main", "serve", "--host", "127.0.0.1"]
    command += ["--rest_api_port", str(found[0]), "--port", str(found[1])]
    for name in MODELS:
        shutil.copytree(model_of(name), folder / name / "1")
        command += ["--model", f"{name}={folder / name}"]
    said = folder / "said"
    with said.open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    for _ in range(600):
        assert server.poll() is None, said.read_text()
        try:
            if httpx.get(f"http://127.0.0.1:{found[0]}/v2/health/ready", timeout=1).is_success:
                break
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    yield found[0], found[1]
    server.send_signal(signal.SIGTERM)
    assert server.wait(timeout=20) == 0, said.read_text()


@every_call
def test_rest(ports: tuple[int, int], name: str, inputs: Arrays, outputs: Arrays) -> None:
    if any(value.ndim > 1 and not value.size for value in inputs.values()):
        pytest.skip("a list of JSON does not tell the width of a matrix without rows")
    body = {key: as_json(value) for key, value in by_parts(name, inputs).items()}
    url = f"http://127.0.0.1:{ports[0]}/v1/models/{name}:predict"
    reply = httpx.post(url, json={"inputs": body}, timeout=30)
    assert reply.status_code == 200, reply.text
    found = reply.json()["outputs"]
    assert_equal(
        found if isinstance(found, dict) else dict.fromkeys(outputs, found), by_parts(name, outputs)
    )


@every_call
def test_grpc(ports: tuple[int, int], name: str, inputs: Arrays, outputs: Arrays) -> None:
    import grpc

    request = PredictRequest()
    request.model_spec.name = name
    for key, value in by_parts(name, inputs).items():
        dtype = dtypes.string if value.dtype == object else dtypes.as_dtype(value.dtype)
        request.inputs[key].CopyFrom(encode_tensor(value, dtype))
    with grpc.insecure_channel(f"127.0.0.1:{ports[1]}") as channel:
        call = channel.unary_unary(
            "/tensorflow.serving.PredictionService/Predict",
            PredictRequest.SerializeToString,
            PredictResponse.FromString,
        )
        reply = call(request, timeout=30)
    found = {key: np.asarray(decode_tensor(one, key)) for key, one in reply.outputs.items()}
    assert_equal(found, by_parts(name, outputs))


# Tables of words and joined string values have no counterpart in ONNX.
EXPORTED = ("sparse_in_and_out", "sparse_beside_names_with_signs", "slices_in_and_out")


@pytest.mark.parametrize("name", EXPORTED)
def test_the_onnx_file(name: str, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    target = tmp_path / "m.onnx"
    calls = [(inputs, outputs) for other, inputs, outputs in CALLS if other == name]
    np.savez(tmp_path / "sample.npz", **by_parts(name, calls[0][0]))
    answer = pinnace("export", model_of(name), target, "--sample", tmp_path / "sample.npz")
    assert answer.code == 0, answer.err
    session = runtime.InferenceSession(target)
    # The file may spell the names of components differently, and has them in the signature's order.
    names = tf.saved_model.load(model_of(name)).signatures["serving_default"].array_outputs
    for inputs, outputs in calls:
        found = session.run(None, by_parts(name, inputs))
        assert_equal(dict(zip(names, found, strict=True)), by_parts(name, outputs))
