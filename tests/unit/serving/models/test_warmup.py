"""A version answers its warm-up requests before clients' requests."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.graph.codec.tensors import encode_tensor
from pinnace.proto.example_pb2 import Example
from pinnace.proto.prediction_log_pb2 import PredictionLog
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.repository import Repository
from pinnace.serving.models.servable import Servable
from pinnace.serving.models.tables import Which
from pinnace.serving.models.versions import State
from pinnace.serving.models.warmup import FILE, warm_up
from pinnace.serving.running.signatures import Arrays
from pinnace.storage.record import RecordWriter
from support.golden import golden
from unit.serving.numpy_models import NumpyModel, write_version

ROWS = TensorSpec([None, 2], "float32")
TEXTS = TensorSpec([None], "string")


class Seen:
    """A model that records its requests."""

    def __init__(self, is_pure: bool = True) -> None:
        self.feeds: list[tuple[str, Arrays]] = []

        def numbers(given: Arrays) -> Arrays:
            self.feeds.append(("serving_default", given))
            if (given["x"] < 0).any():
                raise InvalidArgumentError("negative")
            return {"y": given["x"]}

        def texts(given: Arrays) -> Arrays:
            self.feeds.append(("texts", given))
            return {"outputs": np.zeros(len(given["inputs"]), np.float32)}

        self.model = LoadedModel(
            {
                "serving_default": NumpyModel({"x": ROWS}, {"y": ROWS}, numbers, is_pure),
                "texts": NumpyModel(
                    {"inputs": TEXTS}, {"outputs": TensorSpec([None], "float32")}, texts, is_pure
                ),
            }
        )


def predict_log(*rows: list[float]) -> PredictionLog:
    log = PredictionLog()
    log.predict_log.request.model_spec.name = "whatever"
    log.predict_log.request.inputs["x"].CopyFrom(encode_tensor(np.float32(rows)))
    return log


def regress_log() -> PredictionLog:
    log = PredictionLog()
    log.regress_log.request.model_spec.signature_name = "texts"
    log.regress_log.request.input.example_list.examples.append(Example())
    return log


def write_logs(folder: Path, *logs: PredictionLog | bytes) -> None:
    path = folder / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with RecordWriter(path) as writer:
        for log in logs:
            writer.write(log if isinstance(log, bytes) else log.SerializeToString())


def test_the_first_small_one_is_kept_as_an_example(tmp_path: Path) -> None:
    write_logs(tmp_path, predict_log(*[[1, 2]] * 3000), predict_log([3, 4]), predict_log([5, 6]))
    servable = Servable("m", 1, Seen().model)
    warm_up(servable, tmp_path, 1)
    assert list(servable.examples) == ["serving_default"]
    np.testing.assert_array_equal(servable.examples["serving_default"]["x"], [[3, 4]])


def test_recorded_requests_are_answered(tmp_path: Path) -> None:
    write_logs(tmp_path, predict_log([1, 2], [3, 4]), regress_log())
    seen = Seen()
    warm_up(Servable("m", 1, seen.model), tmp_path, iterations=2)
    assert [name for name, _ in seen.feeds] == ["serving_default", "texts"] * 2
    np.testing.assert_array_equal(seen.feeds[0][1]["x"], np.float32([[1, 2], [3, 4]]))


def test_without_a_file_pure_signatures_run_on_zeros(tmp_path: Path) -> None:
    seen = Seen()
    warm_up(Servable("m", 1, seen.model), tmp_path, iterations=1)
    assert {name for name, _ in seen.feeds} == {"serving_default", "texts"}
    np.testing.assert_array_equal(seen.feeds[0][1]["x"], np.zeros((1, 2), np.float32))
    others = Seen(is_pure=False)
    warm_up(Servable("m", 1, others.model), tmp_path, iterations=1)
    assert others.feeds == []
    warm_up(Servable("m", 1, others.model), tmp_path, iterations=0)


@pytest.mark.parametrize(
    ("logs", "message"),
    [
        ([predict_log([-1, 0])], "warm-up request 0 failed: negative"),
        ([predict_log([1, 2]), predict_log([1])], "warm-up request 1 failed: Input 'x' must be"),
        ([b"\xff"], "record 0 is not a PredictionLog"),
        ([PredictionLog()], "a record of kind none cannot be answered"),
        ([predict_log([1, 2])] * 1001, "more than 1000 warm-up requests"),
    ],
)
def test_a_version_that_cannot_answer_them_is_not_served(
    tmp_path: Path, logs: list[PredictionLog | bytes], message: str
) -> None:
    write_logs(write_version(tmp_path, 2), *logs)
    write_version(tmp_path, 1)
    models = (ModelConfig("m", str(tmp_path)),)
    repository = Repository(Settings(models=models, file_system_poll_s=0), lambda _: Seen().model)
    repository.start()
    try:
        assert repository.get(Which("m")).version == 1
        status = repository.status(Which("m", 2))[0]
        assert status.state is State.END
        assert message in status.message
    finally:
        repository.close()


def test_a_recorded_request_of_another_shape_than_declared_is_answered(tmp_path: Path) -> None:
    """The request of TensorFlow Serving's README to half_plus_two, whose x is declared [?, 1]."""
    shutil.copytree(golden("v1_models/half_plus_two") / "model", tmp_path / "1")
    log = PredictionLog()
    request = log.predict_log.request
    request.model_spec.signature_name = "serving_default"
    request.inputs["x"].dtype = 1
    request.inputs["x"].tensor_shape.dim.add(size=3)
    request.inputs["x"].float_val.extend([1, 2, 5])
    write_logs(tmp_path / "1", log)
    models = (ModelConfig("m", str(tmp_path)),)
    repository = Repository(Settings(models=models, file_system_poll_s=0), load_model)
    repository.start()
    try:
        assert repository.status(Which("m", 1))[0].state is State.AVAILABLE
    finally:
        repository.close()
