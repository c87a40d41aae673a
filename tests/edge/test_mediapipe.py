"""MediaPipe reads the metadata of our .tflite files, and classifies with them."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from edge import made
from edge.runtimes import PROGRAMS, SECONDS
from pinnace.deploy import lite
from pinnace.deploy.lite.reading.saving import write_saved_model

if TYPE_CHECKING:
    from pathlib import Path

PICTURE = np.random.default_rng(3).integers(0, 256, (20, 24, 3), np.uint8)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved network for images."""
    place = tmp_path_factory.mktemp("saved") / "model"
    made.pictures(place)
    return place


def classified(file: Path) -> dict[str, float]:
    python = os.environ.get("PINNACE_MEDIAPIPE_PYTHON")
    if not python:
        pytest.fail("PINNACE_MEDIAPIPE_PYTHON is not set. Try: make edge")
    np.save(file.with_suffix(".npy"), PICTURE)
    done = subprocess.run(
        [python, PROGRAMS / "classify.py", file, file.with_suffix(".npy")],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, float] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return found


def check(file: Path, saved: Path, tolerance: float) -> None:
    served = tf.saved_model.load(saved).signatures["serving_default"]
    x = tf.constant(PICTURE[None].astype(np.float32))
    (scores,) = (y.numpy()[0] for y in served(image=x).values())
    found = classified(file)
    assert set(found) == set(made.LABELS)
    for index, label in enumerate(made.LABELS):
        assert found[label] == pytest.approx(scores[index], abs=tolerance)


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        ({}, 1e-5),
        ({"float16": True}, 0.01),
        ({"int8_static": "rows", "input_type": "uint8", "output_type": "uint8"}, 0.02),
    ],
    ids=["float32", "float16", "uint8"],
)
def test_it_classifies(
    saved: Path, tmp_path: Path, options: dict[str, Any], tolerance: float
) -> None:
    rows = {"image": np.random.default_rng(0).integers(0, 256, (40, 20, 24, 3)).astype(np.float32)}
    told: dict[str, Any] = {k: rows if v == "rows" else v for k, v in options.items()}
    lite.export(saved, tmp_path / "m.tflite", **told)
    check(tmp_path / "m.tflite", saved, tolerance)


def test_a_file_that_was_read_and_written_again(saved: Path, tmp_path: Path) -> None:
    lite.export(saved, tmp_path / "m.tflite")
    write_saved_model(tmp_path / "m.tflite", tmp_path / "again")
    lite.export(tmp_path / "again", tmp_path / "n.tflite")
    check(tmp_path / "n.tflite", saved, 1e-5)


def test_a_normalization_that_is_given(tmp_path: Path) -> None:
    """The model expects numbers from -1 to 1, and does not normalise pixels itself."""

    @tf.function(input_signature=[tf.TensorSpec([1, 20, 24, 3], name="image")])
    def colours(image: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"scores": tf.nn.softmax(tf.reduce_mean(image, [1, 2]) * 10.0)}

    lite.export(
        colours.get_concrete_function(),
        tmp_path / "m.tflite",
        labels=["red", "green", "blue"],
        normalization=((120.0, 120.0, 120.0), (50.0,)),
    )
    x = (PICTURE.astype(np.float64) - 120) / 50
    powers = np.exp(x.mean((0, 1)) * 10)
    wanted = dict(zip(["red", "green", "blue"], powers / powers.sum(), strict=True))
    found = classified(tmp_path / "m.tflite")
    assert found == pytest.approx(wanted, abs=1e-4)
