"""Every kind of forest that ydf trains: predictions from the SavedModel, its folder and ONNX."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import pinnace as tf
from pinnace.deploy import onnx
from pinnace.deploy.cli.forest_folders import report_of
from pinnace.deploy.models.runners import load_runner
from pinnace.ops.trees.forest_files import read_forest

pytestmark = pytest.mark.producers

CORPUS = Path(os.environ.get("PINNACE_FORESTS", "nowhere"))
NAMES = sorted(path.parent.name for path in CORPUS.glob("*/io.npz")) if CORPUS.is_dir() else []
WITH_SETS = ("boosted_sets", "forest_sets")


def io_of(name: str) -> dict[str, Any]:
    with np.load(CORPUS / name / "io.npz") as arrays:
        return dict(arrays)


def given(io: dict[str, Any], wanted: Any) -> dict[str, Any]:
    found = {}
    for key in wanted:
        value = io[f"in/{key}"]
        found[key] = value.astype(object) if value.dtype.kind == "S" else value
    return found


def test_the_corpus_is_there() -> None:
    assert len(NAMES) >= 29, f"{CORPUS} has {NAMES}; `make producers` writes it"


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_answers_as_in_tensorflow(name: str, tmp_path: Path) -> None:
    io = io_of(name)
    (output,) = (key for key in io if key.startswith("out/")) if has_model(name) else ("",)
    if not output:
        assert name in {"isolation", "boosted_binary_logits"}, "ydf writes a SavedModel of it"
        return
    again = tmp_path / "again"
    tf.saved_model.save(tf.saved_model.load(CORPUS / name / "model"), again)
    for folder in (CORPUS / name / "model", again):
        serve = tf.saved_model.load(folder).signatures["serving_default"]
        feeds = given(io, serve.structured_input_signature[1])
        y = serve(**{key: tf.constant(value) for key, value in feeds.items()})
        np.testing.assert_allclose(y[output[4:]].numpy(), io[output], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_answers_as_its_saved_model_does(name: str) -> None:
    folder, io = CORPUS / name / "forest", io_of(name)
    report = report_of(folder)
    assert report.trees == io["leaves"].shape[1]
    assert sum(one.conditions for one in report.features) >= sum(report.conditions.values())
    if name in WITH_SETS:
        with pytest.raises(tf.errors.UnimplementedError, match="sets of categories"):
            load_runner(folder)
        return
    runner = load_runner(folder)
    found = runner.run(given(io, runner.inputs))["output"]
    wanted = [value for key, value in io.items() if key.startswith("out/")] or [io["ydf"]]
    np.testing.assert_allclose(found, wanted[0], rtol=1e-5, atol=1e-6)


def has_model(name: str) -> bool:
    return (CORPUS / name / "model").is_dir()


@pytest.mark.parametrize("name", NAMES)
def test_an_exported_file_answers_as_in_tensorflow(name: str, tmp_path: Path) -> None:
    if not has_model(name):
        return
    path = tmp_path / "forest.onnx"
    if name in WITH_SETS:
        with pytest.raises(tf.errors.UnimplementedError, match=r"rows of different length|sets of"):
            onnx.export(CORPUS / name / "model", path)
        return
    onnx.export(CORPUS / name / "model", path)
    io = io_of(name)
    run = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    feeds = given(io, [one.name for one in run.get_inputs()])
    for key, value in feeds.items():
        if value.dtype == object:
            feeds[key] = np.array([one.decode() for one in value])
    (output,) = (key for key in io if key.startswith("out/"))
    np.testing.assert_allclose(run.run(None, feeds)[0], io[output], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_of_ydf_has_its_trees_and_leaves(name: str) -> None:
    io = io_of(name)
    folder = CORPUS / name / "forest"
    forest, columns = read_forest(lambda file: (folder / file).read_bytes())
    assert forest.roots.size == io["leaves"].shape[1]
    if name in WITH_SETS or "uplift" in name:
        return
    features, rows = of_rows(io, columns)
    assert forest.leaves(features, rows).tolist() == io["leaves"].tolist()
    if "ydf" in io:
        y, wanted = forest.predict(features, rows), io["ydf"].reshape(rows, -1)
        if y.shape[1] == 2 and wanted.shape[1] == 1:
            y = y[:, 1:]  # ydf returns the probability of the second class
        np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-6)


def of_rows(io: dict[str, Any], columns: Any) -> tuple[Any, int]:
    """The features as arrays, as a SavedModel's graph computes them from its inputs."""
    from pinnace.ops.trees.nodes import Features

    def named(index: int) -> Any:
        return io[f"in/{columns.column(index).name.decode()}"]

    def indices(index: int) -> Any:
        items = {item.key: item.value.index for item in columns.column(index).categorical.items}
        words = [bytes(word) for word in named(index)]
        return [-1 if not word else items.get(word, 0) for word in words]

    rows = len(io["in/f1"])
    numbers = [named(k).astype(np.float32) for k in (*columns.numerical, *columns.boolean)]
    categories = [indices(k) for k in columns.categorical]
    nothing = np.zeros(0, np.int32), np.zeros(1, np.int64)
    return Features(
        np.stack(numbers, 1), np.array(categories, np.int32).reshape(-1, rows).T, *nothing, 0
    ), rows
