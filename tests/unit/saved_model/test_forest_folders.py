"""A folder of ydf as a model: shown, run, served and exported like its SavedModel."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy import onnx
from pinnace.deploy.cli.forest_folders import report_of
from pinnace.deploy.models.finding import find_model
from pinnace.deploy.models.kinds import FOREST, SAVED_MODEL
from pinnace.deploy.models.runners import load_runner
from pinnace.ops.trees.forest_folders import prefix_of
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.versions import find_versions
from support.command_line import pinnace
from support.golden import golden

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("boosted_number", "boosted_three", "cart_three", "forest_oblique")


def forest(name: str) -> Path:
    """The assets of a SavedModel of ydf are its own files, with a prefix."""
    return golden(f"forests/{name}") / "model" / "assets"


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_answers_as_tensorflow_does(name: str, tmp_path: Path) -> None:
    runner = load_runner(forest(name))
    model = tf.saved_model.load(golden(f"forests/{name}") / "model")
    wanted = model.signatures["serving_default"].structured_input_signature[1]
    assert {key: spec.text for key, spec in runner.inputs.items()} == {
        key: spec.text for key, spec in wanted.items()
    }
    with np.load(golden(f"forests/{name}") / "io.npz") as arrays:
        io = dict(arrays)
    given = {key: io[f"in/{key}"] for key in runner.inputs}
    given = {
        key: value.astype(object) if value.dtype.kind == "S" else value
        for key, value in given.items()
    }
    (answer,) = (value for key, value in io.items() if key.startswith("out/"))
    np.testing.assert_allclose(runner.run(given)["output"], answer, rtol=1e-5, atol=1e-6)
    report = onnx.export(find_model(forest(name))[0], tmp_path / "forest.onnx")
    assert report.largest_relative < 1e-5


def test_its_kind_is_told_by_its_files(tmp_path: Path) -> None:
    folder = forest("cart_three")
    assert find_model(folder, (SAVED_MODEL, FOREST)) == (folder, FOREST)
    assert find_model(folder)[1] == SAVED_MODEL
    assert (prefix_of(folder) or "").endswith("_")
    assert prefix_of(tmp_path) is None


def test_a_server_takes_the_folder() -> None:
    folder = forest("cart_three")
    assert find_versions(str(folder)) == {1: folder}
    assert list(load_model(folder).signatures) == ["serving_default"]


def test_a_report_counts_what_the_trees_ask() -> None:
    report = report_of(forest("cart_three"))
    assert (report.kind, report.task, report.label, report.trees) == (
        *("RANDOM_FOREST", "CLASSIFICATION", "three"),
        1,
    )
    conditions = sum(one.conditions for one in report.features)
    assert conditions == sum(report.conditions.values())
    assert report.nodes == 2 * conditions + 1 == len(report.first_tree)
    assert sorted(report.outputs) == ["high", "low", "middle"]
    assert {name for found in report.importances.values() for name in found} <= {
        one.name for one in report.features
    }


def test_show_prints_it_and_its_graph() -> None:
    folder = forest("cart_three")
    plain = pinnace("show", folder)
    assert plain.code == 0
    assert "yes: " in plain.out
    assert "RANDOM_FOREST" in plain.out
    assert json.loads(pinnace("show", folder, "--json").out)["trees"] == 1
    graph = pinnace("show", folder, "--graph", "serving_default")
    assert "SimpleMLInferenceOpWithHandle" in graph.out
