"""TensorBoard's own reader reads what we write; needs the `tensorboard` package."""

from pathlib import Path

import numpy as np
import pytest

import pinnace as tf
from pinnace import summary


def test_tensorboard_reads_every_kind(tmp_path: Path) -> None:
    accumulators = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="the tensorboard package is not installed",
    )
    writer = summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        for step in range(3):
            summary.scalar("loss", 1.0 / (step + 1), step=step)
        summary.histogram("h", np.arange(10.0), step=0)
        summary.image("i", np.zeros((1, 2, 3, 3), np.uint8), step=0)
        summary.text("t", "words", step=0)
        summary.graph(tf.function(lambda x: x + 1.0).get_concrete_function(tf.constant(1.0)))
    writer.close()
    found = accumulators.EventAccumulator(str(tmp_path))
    found.Reload()
    assert set(found.Tags()["tensors"]) == {"loss", "h", "i", "t"}
    assert [event.step for event in found.Tensors("loss")] == [0, 1, 2]
    assert found.Tags()["graph"]
    assert found.SummaryMetadata("loss").plugin_data.plugin_name == "scalars"


def test_tensorboard_reads_what_functions_write(tmp_path: Path) -> None:
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    tensor_util = pytest.importorskip("tensorboard.util.tensor_util")
    writer = summary.create_file_writer(str(tmp_path))

    @tf.function
    def train(step: tf.Tensor) -> tf.Tensor:
        loss = 1.0 / tf.cast(step + 1, tf.float32)
        with writer.as_default(), summary.record_if(tf.equal(step % 2, 0)):
            summary.scalar("loss", loss, step=step)
            summary.histogram("h", tf.fill([10], loss), step=step)
        return loss

    summary.trace_on(graph=True)
    for step in range(6):
        train(tf.constant(step, tf.int64))
    with writer.as_default():
        summary.trace_export("train", step=0)
        summary.audio("a", np.zeros((1, 50, 2), np.float32), 8000, step=3)
    writer.close()
    found = accumulators.EventAccumulator(str(tmp_path))
    found.Reload()
    events = found.Tensors("loss")
    assert [event.step for event in events] == [0, 2, 4]
    values = [float(tensor_util.make_ndarray(event.tensor_proto)) for event in events]
    np.testing.assert_allclose(values, [1, 1 / 3, 1 / 5], rtol=1e-6)
    buckets = tensor_util.make_ndarray(found.Tensors("h")[1].tensor_proto)
    assert buckets[:, 2].sum() == 10
    assert found.Tensors("a")[0].step == 3
    assert found.SummaryMetadata("a").plugin_data.plugin_name == "audio"
    assert found.SummaryMetadata("h").plugin_data.plugin_name == "histograms"
    assert set(found.Tags()["tensors"]) == {"loss", "h", "train", "a"}
    assert found.SummaryMetadata("train").plugin_data.plugin_name.startswith("graph_")
