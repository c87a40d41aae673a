"""Signature definitions in a file: wrong dtypes, default values of inputs.

The model is one that TensorFlow wrote, with its signature changed here.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pinnace.framework.errors import InvalidArgumentError
from pinnace.graph.codec.tensors import decode_tensor, encode_tensor
from pinnace.proto.predict_pb2 import PredictRequest, PredictResponse
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.proto.types_pb2 import DT_INT64, DT_STRING
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.messages.prediction import Predict
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.servable import Servable
from unit.serving.memory_server import running

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).parents[3] / "golden" / "v1_models" / "half_plus_two" / "model"
NAME = "serving_default"


def changed(base: Path, change: Callable[[Any], object]) -> Path:
    """The folder of a copy whose default signature is changed."""
    folder = base / "1"
    shutil.copytree(GOLDEN, folder)
    for print_file in folder.glob("fingerprint.pb"):
        print_file.unlink()
    message = SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    change(message.meta_graphs[0].signature_def[NAME])
    (folder / "saved_model.pb").write_bytes(message.SerializeToString())
    return folder


@pytest.mark.parametrize("wrong", [DT_STRING, DT_INT64])
def test_a_dtype_that_the_graph_does_not_have_refuses_no_model(tmp_path: Path, wrong: int) -> None:
    plain = load_model(GOLDEN).signatures[NAME]
    (key,) = plain.inputs

    def change(signature: Any) -> None:
        signature.inputs[key].dtype = wrong

    model = load_model(changed(tmp_path, change))
    signature = model.signatures[NAME]
    assert signature.inputs[key].dtype is plain.inputs[key].dtype
    shape = [2 if size is None else size for size in plain.inputs[key].shape.dims or ()]
    feeds = {key: np.full(shape, 3, plain.inputs[key].dtype.numpy)}
    expected = plain.run_arrays(feeds)
    found = signature.run_arrays(feeds)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)
    assert model.definitions[NAME].inputs[key].dtype == ("DT_STRING" if wrong == 7 else "DT_INT64")


def predict(servable: Servable, **inputs: Any) -> dict[str, Any]:
    request = PredictRequest()
    request.model_spec.name = "m"
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(encode_tensor(value))
    decoded = Predict(request).decode(servable, b"", {})
    outputs = servable.run_now(decoded.signature_name, decoded.feeds)
    response = PredictResponse.FromString(decoded.encode(outputs).body)
    return {name: decode_tensor(tensor).tolist() for name, tensor in response.outputs.items()}


def test_an_input_with_a_default_may_be_left_out(tmp_path: Path) -> None:
    (key,) = load_model(GOLDEN).signatures[NAME].inputs
    value = np.float32([4.0])
    folder = changed(tmp_path, lambda s: s.defaults[key].CopyFrom(encode_tensor(value)))
    servable = Servable("m", 1, load_model(folder))
    given = predict(servable, **{key: value})
    assert predict(servable) == given
    other = predict(servable, **{key: np.float32([6.0])})
    assert other != given
    for wrong, message in (
        ({"z": value}, "input tensor alias not found in signature: z. Inputs expected"),
        ({"z": value, key: value}, r"2!=1 .*Sent extra: \{z\}. Missing but required: \{\}"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            predict(servable, **wrong)
    servable.close()
    plain = Servable("m", 1, load_model(GOLDEN))
    missing = rf"0!=1 .*Sent extra: \{{\}}. Missing but required: \{{{key}\}}."
    with pytest.raises(InvalidArgumentError, match=missing):
        predict(plain)
    plain.close()
    models = (ModelConfig("m", str(tmp_path)),)
    with running(Settings(models=models, file_system_poll_s=0), load_model) as server:
        metadata = server.ask("GET", "/v1/models/m/metadata").json()["metadata"]
    defaults = metadata["signature_def"]["signature_def"][NAME]["defaults"]
    assert defaults.keys() == {key}
    assert defaults[key]["dtype"] == "DT_FLOAT"
    assert defaults[key]["tensor_shape"]["dim"] == [{"size": "1", "name": ""}]
