"""A model that generates words gives TensorFlow's results, also saved again, and in ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

import pinnace as tf
from pinnace.deploy import onnx
from support.golden import golden

if TYPE_CHECKING:
    from pathlib import Path


def arrays() -> tuple[dict[str, Any], Any]:
    with np.load(golden("generators/gpt2") / "io.npz") as content:
        given = {key[3:]: content[key] for key in content.files if key.startswith("in/")}
        return given, content["out/sequences"]


def test_words_are_those_of_tensorflow(tmp_path: Path) -> None:
    given, wanted = arrays()
    loaded = tf.saved_model.load(golden("generators/gpt2") / "model")
    tf.saved_model.save(loaded, tmp_path / "again", signatures=dict(loaded.signatures))
    for model in (loaded, tf.saved_model.load(tmp_path / "again")):
        feeds = {key: tf.constant(value) for key, value in given.items()}
        for _ in range(3):  # also once the plan has its final layout
            found = model.signatures["serving_default"](**feeds)["sequences"]
            np.testing.assert_array_equal(found, wanted)


def test_an_exported_loop_gives_them_too(tmp_path: Path) -> None:
    given, wanted = arrays()
    report = onnx.export(golden("generators/gpt2") / "model", tmp_path / "model.onnx")
    assert report.op_counts["Loop"] == 1
    session = onnxruntime.InferenceSession(
        str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"]
    )
    np.testing.assert_array_equal(session.run(["sequences"], given)[0], wanted)
