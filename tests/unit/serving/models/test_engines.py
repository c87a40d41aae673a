"""Models on ONNX Runtime: ONNX files, and SavedModels exported when they are loaded."""

import itertools
from pathlib import Path

import numpy as np
import onnx
import pytest

import pinnace as tf
from pinnace.deploy.onnx.flow.exporting import export
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError
from pinnace.graph.codec.tensors import encode_tensor
from pinnace.proto.prediction_log_pb2 import PredictionLog
from pinnace.serving.command import parse_settings
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.flags import UsageError
from pinnace.serving.models.engines import OnnxSignature, load_onnx
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.repository import Repository
from pinnace.serving.models.tables import Which
from pinnace.serving.models.versions import State
from pinnace.serving.models.warmup import FILE
from pinnace.serving.running.signatures import Arrays
from pinnace.storage.record import RecordWriter
from support.fresh_process import run_fresh

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
        assert type(signature).__module__ == "pinnace.serving.models.engines"
        assert dict(signature.inputs) == dict(own.inputs)
        for name, array in own.run_arrays({"x": X}).items():
            np.testing.assert_allclose(signature.run_arrays({"x": X})[name], array)
        # Signatures with effects stay on the project's own kernels.
        assert type(servable.signatures["count"]).__module__ == "pinnace.serving.models.loading"
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


CUT_SHORT = """
import os, sys
import numpy as np
from pathlib import Path
from pinnace.serving.models.loading import load_model
paths = list(map(Path, sys.argv[1:]))
for file, weights in zip(paths[::2], paths[1::2]):
    model = load_model(file)
    for one in {file if file.is_file() else next(file.glob("*.onnx")), weights}:
        os.truncate(one, 0)
    x = np.ones((1, 8), np.float32)
    y = model.signatures["serving_default"].run_arrays({"x": x})["y"]
    print(file, weights.name, y.sum(), flush=True)
"""


def save_with_weights_beside(file: Path, weights: str) -> None:
    """y = x @ ones(8, 8192), with the ones in a separate file."""
    ones = np.ones((8, 8192), np.float32)
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 8])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 8192])],
        [onnx.numpy_helper.from_array(ones, "w")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 9
    file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save_model(model, str(file), save_as_external_data=True, location=weights)


def test_onnx_files_may_be_cut_short_while_they_are_served(tmp_path: Path) -> None:
    pairs = []
    for weights in ("model.onnx.data", "model.onnx_data", "model.bin"):
        for is_folder in (False, True):
            folder = tmp_path / f"{weights}-{is_folder}" / "1"
            save_with_weights_beside(folder / "model.onnx", weights)
            pairs.append((folder if is_folder else folder / "model.onnx", folder / weights))
    # In a separate process, since the system would end it on an error.
    lines = run_fresh(CUT_SHORT, *itertools.chain.from_iterable(pairs)).splitlines()
    assert lines == [f"{file} {weights.name} 65536.0" for file, weights in pairs]


def test_weights_of_another_name_are_found_where_they_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    save_with_weights_beside(tmp_path / "model.onnx", "numbers")
    model = load_model(tmp_path / "model.onnx")
    found = model.signatures["serving_default"].run_arrays({"x": np.ones((1, 8), np.float32)})
    assert found["y"].sum() == 65536
    assert "put it into a folder with its weights" in caplog.text


def test_a_damaged_onnx_file_is_named_by_its_own_path(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"no model")
    with pytest.raises(InvalidArgumentError, match=f"{tmp_path}/m.onnx is not an ONNX file"):
        load_model(tmp_path / "m.onnx")


class Steps(tf.Module):
    """A model whose exports differ on purpose: see the test."""

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x * 2.0}


def warm_up_with(folder: Path, *rows: list[float]) -> None:
    log = PredictionLog()
    log.predict_log.request.model_spec.name = "m"
    file = folder / FILE
    file.parent.mkdir(exist_ok=True)
    with RecordWriter(file) as writer:
        for row in rows:
            log.predict_log.request.inputs["x"].CopyFrom(encode_tensor(np.float32([row])))
            writer.write(log.SerializeToString())


def test_warm_up_requests_are_compared_before_an_export_goes_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = Steps()
    folder = tmp_path / "m" / "1"
    tf.saved_model.save(module, str(folder), signatures=module.serve)
    run = OnnxSignature.run_arrays

    def wrong_above_100(self: OnnxSignature, feeds: Arrays) -> Arrays:
        found = run(self, feeds)
        if max(float(array.max()) for array in feeds.values()) < 100:
            return found
        return {name: array + 1 for name, array in found.items()}

    monkeypatch.setattr(OnnxSignature, "run_arrays", wrong_above_100)
    for rows, is_live in (([[1.0, 2.0]], True), ([[1.0, 2.0], [300.0, 4.0]], False)):
        warm_up_with(folder, *rows)
        models = repository(tmp_path / "m", m="onnxruntime")
        if is_live:
            models.start()
            models.close()
        else:
            with pytest.raises(FailedPreconditionError, match="outputs differ from pinnace's"):
                models.start()


def test_an_onnx_model_says_what_it_is(saved: Path, tmp_path: Path) -> None:
    export(str(saved / "1"), tmp_path / "model.onnx")
    assert load_model(tmp_path / "model.onnx").platform == "onnxruntime_onnx"
    assert load_model(saved / "1").platform == "tensorflow_savedmodel"
