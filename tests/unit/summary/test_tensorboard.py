"""TensorBoard's own reader reads what we write; needs the `tensorboard` package."""

from pathlib import Path

import numpy as np
import pytest

import pinnace as tf
from pinnace import summary

pytestmark = pytest.mark.interop


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
