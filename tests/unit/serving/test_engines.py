"""Models on ONNX Runtime: ONNX files, and SavedModels exported when they are loaded."""

from pathlib import Path

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.onnx.exporting import export
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError
from pinnace.serving.command import UsageError, parse_settings
from pinnace.serving.engines import OnnxSignature, load_onnx
from pinnace.serving.loading import load_model
from pinnace.serving.model_config import ModelConfig
from pinnace.serving.repository import Repository, Which
from pinnace.serving.settings import Settings
from pinnace.serving.versions import State

X = np.float32([[1, -2], [3, 4]])
W = np.float32([[2, 1], [0, -1]])


class Model(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(W)
        self.count = tf.Variable(0)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def product(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.nn.relu(tf.matmul(x, self.w)), "x": x}

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, name="by")])
    def add(self, by: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"count": self.count.assign_add(by)}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    model = Model()
    signatures = {"serving_default": model.product, "count": model.add}
    tf.saved_model.save(model, str(tmp_path / "m" / "1"), signatures=signatures)
    return tmp_path / "m"


def repository(path: Path, **engines: str) -> Repository:
    models = (ModelConfig("m", str(path)),)
    return Repository(Settings(models=models, file_system_poll_s=0, engines=engines))


def test_an_onnx_file_is_a_model(saved: Path, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    export(str(saved / "1"), file)
    models = repository(file)
    models.start()
    try:
        servable = models.get(Which("m"))
        found = servable.run_now("serving_default", {"x": X})
        np.testing.assert_allclose(found["y"], np.maximum(X @ W, 0))
        assert servable.signatures["serving_default"].inputs["x"].shape.dims == (None, 2)
    finally:
        models.close()


def test_numbered_folders_may_hold_onnx_files(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "n" / "3").mkdir(parents=True)
    export(str(saved / "1"), tmp_path / "n" / "3" / "any.onnx")
    models = repository(tmp_path / "n")
    models.start()
    assert models.get(Which("m")).version == 3
    models.close()


def test_a_saved_model_goes_through_an_export(saved: Path) -> None:
    own = load_model(saved / "1").signatures["serving_default"]
    models = repository(saved, m="onnxruntime")
    models.start()
    try:
        servable = models.get(Which("m"))
        signature = servable.signatures["serving_default"]
        assert type(signature).__module__ == "pinnace.serving.engines"
        assert dict(signature.inputs) == dict(own.inputs)
        for name, array in own.run_arrays({"x": X}).items():
            np.testing.assert_allclose(signature.run_arrays({"x": X})[name], array)
        # What has effects stays where they happen.
        assert type(servable.signatures["count"]).__module__ == "pinnace.serving.loading"
        assert servable.run_now("count", {"by": np.int32(2)})["count"] == 2
    finally:
        models.close()


def test_a_model_without_any_exportable_signature_is_refused(tmp_path: Path) -> None:
    model = Model()
    tf.saved_model.save(model, str(tmp_path / "m" / "1"), signatures={"count": model.add})
    models = repository(tmp_path / "m", **{"": "onnxruntime"})
    with pytest.raises(FailedPreconditionError, match="no signature can run on ONNX Runtime"):
        models.start()
    assert models.status(Which("m")) if "m" in models else True
    assert State.AVAILABLE not in {s.state for s in models.all_statuses("m")}


def test_text_goes_and_comes_as_bytes(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    value = [helper.make_tensor_value_info(n, TensorProto.STRING, [None]) for n in ("a", "b")]
    node = helper.make_node("Identity", ["a"], ["b"])
    graph = helper.make_graph([node], "text", value[:1], value[1:])
    path = tmp_path / "text.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path
    )
    found = (
        load_onnx(path)
        .signatures["serving_default"]
        .run_arrays({"a": np.array([b"x", "é".encode()], object)})
    )
    assert found["b"].tolist() == [b"x", "é".encode()]


def test_a_damaged_file_and_a_wrong_engine_are_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"not a model")
    with pytest.raises(InvalidArgumentError, match=r"bad\.onnx: ONNX Runtime: "):
        OnnxSignature(path)
    assert parse_settings(["m=/m", "--engine=onnxruntime"])[0].engines == {"": "onnxruntime"}
    assert parse_settings(["m=/m", "--engine", "m=onnxruntime"])[0].engines == {"m": "onnxruntime"}
    with pytest.raises(UsageError, match="must be 'pinnace' or 'onnxruntime', got 'fast'"):
        parse_settings(["m=/m", "--engine=fast"])
