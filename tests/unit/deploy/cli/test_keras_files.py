"""Commands on Keras' files: the same as on the SavedModel that `export` writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pinnace as tf
from pinnace.serving.models.versions import find_versions
from support.command_line import pinnace

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("h5py")
X = [[0.5, -1.0, 2.0]]


@pytest.fixture(params=[".keras", ".h5"])
def model(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, list[list[float]]]:
    """A model's file, and the model's output for X."""
    made = tf.keras.Sequential(
        [
            tf.keras.Input([3]),
            tf.keras.layers.Dense(4, activation="tanh"),
            tf.keras.layers.Dense(2),
        ]
    )
    path = tmp_path / f"small{request.param}"
    made.save(path)
    return path, made(np.array(X, np.float32)).numpy().tolist()


def test_it_is_shown_and_run(model: tuple[Path, list[list[float]]]) -> None:
    path, wanted = model
    told = json.loads(pinnace("show", path, "--json").out)
    assert [one["name"] for one in told["signatures"]] == ["serve", "serving_default"]
    assert str(path) in pinnace("show", path).out.splitlines()[0]
    answer = pinnace("run", path, "--inputs", f"{_input(told)}={json.dumps(X)}", "--json")
    # stdout has the result only; the conversion is reported on stderr
    np.testing.assert_allclose(json.loads(answer.out)["output_0"], wanted, rtol=1e-5)
    assert answer.code == 0


def test_two_files_of_one_model_are_equal(model: tuple[Path, list[list[float]]]) -> None:
    path, _ = model
    other = path.with_name("copy" + path.suffix)
    other.write_bytes(path.read_bytes())
    answer = pinnace("diff", path, other)
    assert answer.code == 0, answer.err
    assert "equal; 4 variables compared" in answer.out


def test_it_becomes_a_saved_model_and_an_onnx_file(model: tuple[Path, list[list[float]]]) -> None:
    path, wanted = model
    folder = path.parent / "served" / "1"
    assert pinnace("edit", path, folder).code == 0
    assert find_versions(str(folder.parent)) == {1: folder}
    signature = tf.saved_model.load(folder).signatures["serving_default"]
    given = signature(tf.constant(X))["output_0"].numpy()
    np.testing.assert_allclose(given, wanted, rtol=1e-6)
    onnx = pytest.importorskip("onnxruntime")
    assert pinnace("export", path, path.with_suffix(".onnx")).code == 0
    session = onnx.InferenceSession(path.with_suffix(".onnx"))
    name = session.get_inputs()[0].name
    found = session.run(None, {name: np.array(X, np.float32)})[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_damaged_one_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.keras"
    path.write_bytes(b"x")
    for command in (["show", path], ["run", path], ["export", path, tmp_path / "a.onnx"]):
        answer = pinnace(*command)
        assert answer.code == 1
        assert f"Try: pinnace scan {path}" in answer.err
    assert not (tmp_path / "a.onnx").exists()


def test_a_server_says_how_to_write_one_that_it_takes(tmp_path: Path) -> None:
    path = tmp_path / "a.keras"
    path.write_bytes(b"x")
    with pytest.raises(tf.errors.NotFoundError, match=f"Try: pinnace edit {path}"):
        find_versions(str(path))


def _input(told: dict[str, list[dict[str, list[dict[str, str]]]]]) -> str:
    return told["signatures"][0]["inputs"][0]["name"]
