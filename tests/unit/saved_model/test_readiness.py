"""The predictions of `show` and `scan` agree with the errors of loading and running."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.cli.findings import Findings
from pinnace.deploy.cli.findings_readiness import add_readiness
from pinnace.engine.plan import Plan
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.saved_model.inspection import ModelReport, inspect
from support.changed_models import write_changed
from support.command_line import pinnace

GOLDEN = Path(__file__).parents[2] / "golden"
ALL = sorted(
    path.parent.relative_to(GOLDEN).as_posix()
    for folder in ("saved_models", "v1_models", "version2")
    for path in (GOLDEN / folder).glob("*/model")
)


def changed(folder: Path, name: str, change: Callable[[Any], None]) -> Path:
    """A golden model with a changed graph."""
    shutil.copytree(GOLDEN / name / "model", folder)
    path = folder / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    change(message.meta_graphs[0])
    write_changed(path, message)
    return folder


def said_beforehand(folder: Path) -> tuple[ModelReport, list[str]]:
    """The report, and the locations that a scan names."""
    found = Findings()
    add_readiness(found, folder)
    return inspect(folder), [place for one in found.all() for place in one.places]


@pytest.mark.parametrize("name", ALL)
def test_what_loads_and_runs_is_called_so(name: str) -> None:
    report, found = said_beforehand(GOLDEN / name / "model")
    assert report.load_error == ""
    assert [one.problems for one in report.signatures if one.problems] == []
    assert not report.unsupported
    assert found == []


def without_a_value(meta: Any) -> None:
    for node in meta.object_graph_def.nodes:
        for slot in node.slot_variables:
            slot.slot_name = "nothing"


def with_an_unknown_kind(meta: Any) -> None:
    for node in meta.object_graph_def.nodes:
        for child in node.children:
            if child.local_name == "w":
                child.node_id = 10_000


@pytest.mark.parametrize("change", [without_a_value, with_an_unknown_kind])
def test_why_a_model_does_not_load_is_what_load_says(
    change: Callable[[Any], None], tmp_path: Path
) -> None:
    folder = changed(tmp_path / "model", "version2/adam_module", change)
    report, found = said_beforehand(folder)
    with pytest.raises(tf.errors.OpError) as raised:
        tf.saved_model.load(folder)
    assert report.load_error == raised.value.message
    assert found == [raised.value.message]
    assert raised.value.message in pinnace("show", folder).out


def unknown_op(meta: Any) -> None:
    for function in meta.graph_def.library.function:
        for node in function.node_def:
            if node.op == "MatMul":
                node.op = "SimpleMLInference"


def test_an_op_without_a_kernel_is_named_with_its_remedy(tmp_path: Path) -> None:
    folder = changed(tmp_path / "model", "version2/adam_module", unknown_op)
    report, found = said_beforehand(folder)
    (signature,) = report.signatures
    (problem,) = signature.problems
    assert [op.name for op in report.unsupported] == ["SimpleMLInference"]
    function = tf.saved_model.load(folder).signatures["serving_default"]
    with pytest.raises(tf.errors.UnimplementedError) as raised:
        function(x=tf.constant(np.ones([1, 3], np.float32)))
    for said in (problem, raised.value.message, found[0]):
        assert "no kernel for SimpleMLInference (first at " in said
        assert "Decision Forests" in said
        assert "Try: " in said


def test_a_missing_asset_is_named(tmp_path: Path) -> None:
    folder = changed(tmp_path / "model", "version2/table_from_file", lambda _: None)
    shutil.rmtree(folder / "assets")
    report, _ = said_beforehand(folder)
    (signature,) = report.signatures
    loaded = tf.saved_model.load(folder)
    with pytest.raises(tf.errors.NotFoundError) as raised:
        loaded.signatures["serving_default"]
    assert signature.problems == (raised.value.message,)
    assert "words.txt, which is missing" in raised.value.message


def test_what_makes_a_table_counts(tmp_path: Path) -> None:
    def change(meta: Any) -> None:
        for function in meta.graph_def.library.function:
            for node in function.node_def:
                if node.op == "HashTableV2":
                    node.op = "SimpleMLModelTrainer"

    folder = changed(tmp_path / "model", "version2/string_lookup", change)
    report, _ = said_beforehand(folder)
    assert report.load_error == ""
    assert all("SimpleMLModelTrainer" in one.problems[0] for one in report.signatures)
    loaded = tf.saved_model.load(folder)
    with pytest.raises(tf.errors.UnimplementedError, match="SimpleMLModelTrainer"):
        loaded.signatures["serving_default"]


@pytest.mark.parametrize("name", [name for name in ALL if "v1_" not in name])
def test_nothing_of_a_model_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a plan was made")

    monkeypatch.setattr(Plan, "__init__", refuse)
    assert inspect(GOLDEN / name / "model").load_error == ""


def test_what_a_model_of_version_1_runs_first_counts(tmp_path: Path) -> None:
    def change(meta: Any) -> None:
        for node in meta.graph_def.node:
            if node.op.startswith("InitializeTable"):
                node.op = "SimpleMLLoadModelFromPath"

    folder = changed(tmp_path / "model", "v1_models/hash_table_by_reference", change)
    report, _ = said_beforehand(folder)
    loaded = tf.saved_model.load(folder)
    for signature in report.signatures:
        with pytest.raises(tf.errors.UnimplementedError) as raised:
            loaded.signatures[signature.name]
        assert signature.problems == (raised.value.message,)
        assert "Decision Forests" in raised.value.message
