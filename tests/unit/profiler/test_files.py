"""Traces: Chrome's events, TensorBoard's folder, TensorFlow's names for them."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.profiler import profile


def model() -> Any:
    return tf.function(lambda x: tf.nn.relu(x @ x) + x)


def events_of(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    trace = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def trace_of(folder: Path) -> Path:
    (path,) = folder.glob("plugins/profile/*/*.trace.json.gz")
    return path


def test_a_trace_has_an_event_for_each_step_inside_its_call(tmp_path: Path) -> None:
    found = profile(model(), tf.eye(3))
    (path,) = found.save(tmp_path / "new" / "call.json")
    events = events_of(path)
    (call,) = [event for event in events if event["name"].startswith("function")]
    steps = [event for event in events if event is not call]
    assert {"MatMul", "Relu", "AddV2"} <= {event["args"]["kind"] for event in steps}
    for event in steps:
        assert call["ts"] <= event["ts"] + 0.002
        assert event["ts"] + event["dur"] <= call["ts"] + call["dur"] + 0.002
        assert event["args"]["why not fused, not compiled"]
    (zipped,) = found.save(tmp_path / "call.json.gz")
    assert events_of(zipped) == events


def test_tensorboard_gets_its_folder(tmp_path: Path) -> None:
    written = profile(model(), tf.eye(3)).save(tmp_path)
    assert {path.name.split(".", 1)[1] for path in written if "plugins" in str(path)} == {
        "trace.json.gz",
        "xplane.pb",
    }
    assert all(path.is_file() for path in written)
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    (empty,) = tmp_path.glob("*.profile-empty")
    assert list(EventFileLoader(str(empty)).Load()) == []
    profile(model(), tf.eye(3)).save(tmp_path)
    assert len(list(tmp_path.glob("plugins/profile/*"))) == 2


def test_an_unwritable_place_is_an_error(tmp_path: Path) -> None:
    found = profile(model(), tf.eye(3))
    (tmp_path / "file").write_text("")
    with pytest.raises((tf.errors.OpError, OSError), match="file"):
        found.save(tmp_path / "file" / "call.json")
    with pytest.raises((tf.errors.OpError, OSError), match="file"):
        found.save(tmp_path / "file")


def test_start_and_stop_write_what_ran_between(tmp_path: Path) -> None:
    run = model()
    tf.profiler.experimental.start(str(tmp_path))
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.profiler.experimental.start(str(tmp_path))
    with tf.profiler.experimental.Trace("mine", step_num=3) as trace:
        trace.set_metadata(why="a test")
        run(tf.eye(3))
    tf.profiler.experimental.stop()
    with pytest.raises(tf.errors.UnavailableError):
        tf.profiler.experimental.stop()
    events = events_of(trace_of(tmp_path))
    (mine,) = [event for event in events if event["name"] == "mine"]
    assert mine["args"] == {"step_num": 3, "why": "a test"}
    assert any(event["args"].get("kind") == "MatMul" for event in events)


def test_a_profile_that_is_not_saved_writes_nothing(tmp_path: Path) -> None:
    tf.profiler.experimental.start(str(tmp_path / "logs"))
    model()(tf.eye(3))
    tf.profiler.experimental.stop(save=False)
    assert not (tmp_path / "logs").exists()


def test_a_block_is_profiled(tmp_path: Path) -> None:
    with tf.profiler.experimental.Profile(str(tmp_path)):
        model()(tf.eye(3))
    assert events_of(trace_of(tmp_path))


def test_a_trace_outside_of_a_profile_does_nothing() -> None:
    with tf.profiler.experimental.Trace("mine"):
        model()(tf.eye(3))


def test_trace_on_profiles(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="profiler_outdir"):
        tf.summary.trace_on(profiler=True)
    writer = tf.summary.create_file_writer(str(tmp_path))
    tf.summary.trace_on(profiler=True, profiler_outdir=str(tmp_path))
    model()(tf.eye(3))
    with writer.as_default():
        tf.summary.trace_export("graph", step=0)
    assert events_of(trace_of(tmp_path))


@pytest.mark.parametrize("batches", [2, (2, 3), "2,3"])
def test_the_callback_profiles_the_batches_it_is_told(tmp_path: Path, batches: Any) -> None:
    network = tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Dense(1)])
    network.compile("sgd", "mse")
    board = tf.keras.callbacks.TensorBoard(str(tmp_path), profile_batch=batches)
    x = np.ones((8, 2), np.float32)
    network.fit(x, x[:, :1], batch_size=2, epochs=1, verbose=0, callbacks=[board])
    assert events_of(trace_of(tmp_path / "train"))


@pytest.mark.parametrize("batches", [-1, (3, 2), (1, 2, 3), "a"])
def test_batches_that_cannot_be_are_errors(batches: Any) -> None:
    with pytest.raises(ValueError, match="profile_batch"):
        tf.keras.callbacks.TensorBoard(profile_batch=batches)
