"""One client, two models: a SavedModel and its ONNX export give the same answers."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loading import load_model
from support.command_line import pinnace
from support.golden import FOLDER
from unit.serving.memory_server import Server, running

pytest.importorskip("onnxruntime")
# Models that TensorFlow wrote: with one input and output, and with two of each.
MODELS = ("keras_mlp", "keras_cnn", "keras_lstm", "multi_io")


@pytest.fixture(scope="module", params=MODELS)
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, dict[str, Any]]]:
    """A server with both, and the inputs that TensorFlow recorded."""
    folder = tmp_path_factory.mktemp("both")
    source = FOLDER / "saved_models" / request.param
    (folder / "saved").mkdir()
    shutil.copytree(source / "model", folder / "saved" / "1")
    answer = pinnace("export", source / "model", folder / "model.onnx")
    assert answer.code == 0, answer.err
    models = (
        ModelConfig("saved", str(folder / "saved")),
        ModelConfig("exported", str(folder / "model.onnx")),
    )
    settings = Settings(models=models, file_system_poll_s=0)
    with running(settings, load_model) as server:
        yield server, recorded(source)


def recorded(source: Path) -> dict[str, Any]:
    """The first inputs of the default signature."""
    with np.load(source / "io.npz") as archive:
        keys = sorted(key for key in archive.files if key.split("/")[1] == "serving_default")
        first = keys[0].split("/")[0]
        return {
            key.split("/")[3]: archive[key]
            for key in keys
            if key.split("/")[0] == first and key.split("/")[2] == "in"
        }


def agree(first: Any, second: Any) -> None:
    """Equal up to the order of summation of some dozens of float32 terms."""
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for key, value in first.items():
            agree(value, second[key])
    else:
        np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-6)


def test_predict_answers_alike(both: tuple[Server, dict[str, Any]]) -> None:
    server, inputs = both
    body = {"inputs": {name: array.tolist() for name, array in inputs.items()}}
    replies = [server.predict(body, model) for model in ("saved", "exported")]
    assert [reply.status_code for reply in replies] == [200, 200]
    agree(*(reply.json()["outputs"] for reply in replies))


def test_infer_answers_alike(both: tuple[Server, dict[str, Any]]) -> None:
    server, inputs = both
    kinds = {"float32": "FP32", "int32": "INT32", "int64": "INT64"}
    document = {
        "inputs": [
            {
                "name": name,
                "shape": list(array.shape),
                "datatype": kinds[array.dtype.name],
                "data": array.reshape(-1).tolist(),
            }
            for name, array in inputs.items()
        ]
    }
    found = []
    for model in ("saved", "exported"):
        reply = server.ask("POST", f"/v2/models/{model}/infer", json=document)
        assert reply.status_code == 200, reply.text
        found.append({one["name"]: one for one in reply.json()["outputs"]})
    assert found[0].keys() == found[1].keys()
    for name, one in found[0].items():
        assert one["shape"] == found[1][name]["shape"]
        assert one["datatype"] == found[1][name]["datatype"]
        agree(one["data"], found[1][name]["data"])


def test_metadata_names_the_same_tensors(both: tuple[Server, dict[str, Any]]) -> None:
    server, _ = both
    for kind in ("inputs", "outputs"):
        saved, exported = (
            {
                (one["name"], one["datatype"], tuple(one["shape"]))
                for one in server.ask("GET", f"/v2/models/{model}").json()[kind]
            }
            for model in ("saved", "exported")
        )
        assert saved == exported
