"""`pinnace replay`: recorded requests against models and a running server."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.cli.main import main
from pinnace.graph.codec.tensors import encode_tensor
from pinnace.proto.prediction_log_pb2 import PredictionLog
from pinnace.storage.record import RecordWriter
from unit.serving.test_process import process, read_url, wait_for


def save(folder: Path, offset: float) -> None:
    class Half(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
        def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"y": x / 2 + offset}

    half = Half()
    tf.saved_model.save(half, str(folder), signatures=half.__call__)


def record(file: Path, offset: float, values: Sequence[float]) -> None:
    file.parent.mkdir(exist_ok=True)
    with RecordWriter(file) as writer:
        for value in values:
            log = PredictionLog()
            request, response = log.predict_log.request, log.predict_log.response
            request.model_spec.name = "half"
            x = np.float32([value, value + 1])
            request.inputs["x"].CopyFrom(encode_tensor(x))
            response.outputs["y"].CopyFrom(encode_tensor(x / 2 + np.float32(offset)))
            writer.write(log.SerializeToString())


def test_versions_of_a_model_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for version, offset in ((1, 2.0), (2, 2.5)):
        save(tmp_path / "half" / str(version), offset)
    records = tmp_path / "records"
    record(records / "a.tfrecord", 2.0, range(10))
    model = f"--model={tmp_path / 'half'}"
    assert main(["replay", str(records), model, "--version=1"]) == 0
    assert "10 requests" in capsys.readouterr().out
    assert main(["replay", str(records), model]) == 1  # the newest one answers
    out = capsys.readouterr().out
    assert "serving_default:y" in out
    assert "0.5" in out
    assert main(["replay", str(records), model, "--against=1", "--atol=0.6"]) == 0
    assert main(["replay", str(records), model, "--against=1", "--limit=3"]) == 1
    assert "3 requests" in capsys.readouterr().out
    assert main(["replay", str(records), model, "--version=7"]) == 1
    assert "there is no version 7" in capsys.readouterr().err
    assert main(["replay", str(records)]) == 2
    assert main(["replay", str(tmp_path / "none"), model]) == 1
    damaged = tmp_path / "damaged.tfrecord"
    damaged.write_bytes((records / "a.tfrecord").read_bytes()[:-3])
    assert main(["replay", str(damaged), model, "--version=1"]) == 1
    assert "damaged.tfrecord" in capsys.readouterr().err


def test_a_server_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from unit.serving.numpy_models import write_version

    write_version(tmp_path / "half", 1, 2)
    file = tmp_path / "a.tfrecord"
    record(file, 2.0, range(5))
    with process("--rest_api_port=0", "--port=0", f"half={tmp_path / 'half'}") as server:
        url, _ = read_url(server)

        def agrees() -> bool:
            return main(["replay", str(file), f"--url={url}"]) == 0

        wait_for(agrees)
        capsys.readouterr()
        record(file, 2.25, range(5))
        assert main(["replay", str(file), f"--url={url}"]) == 1
        assert "0.25" in capsys.readouterr().out
        assert main(["replay", str(file), f"--url={url}", "--version=9"]) == 1
        assert "5 failed" in capsys.readouterr().out
    assert main(["replay", str(file), "--url=ftp://x"]) == 1
