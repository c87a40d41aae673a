"""The inspection of models, which does not run them."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace import saved_model
from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.framework.module import Module
from pinnace.framework.specs import TensorSpec
from pinnace.framework.variable import Variable
from pinnace.functions.function import function
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.saved_model.inspection import TensorReport, graph_text, inspect
from support.changed_models import write_changed

GOLDEN = Path(__file__).parents[2] / "golden" / "saved_models"
ALL = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())


@pytest.mark.parametrize("name", ALL)
def test_every_golden_model_can_be_described(name: str) -> None:
    report = inspect(GOLDEN / name / "model")
    assert report.tags == ("serve",)
    assert report.writer == "TensorFlow 2.21.0"
    assert report.signatures
    assert report.ops
    assert not report.problems
    assert report.file_bytes["saved_model.pb"] > 0
    assert all(
        op.supported for op in report.ops if op.name in ("MatMul", "Identity", "Placeholder")
    )


def test_a_report_has_everything() -> None:
    report = inspect(GOLDEN / "poly_module" / "model")
    assert report.format == "TensorFlow 2"
    (signature,) = report.signatures
    assert signature.name == "serving_default"
    assert signature.inputs == (TensorReport("x", "float32", "[?, 3]"),)
    assert [one.name for one in signature.outputs] == ["sum", "y"]
    assert signature.method == "tensorflow/serving/predict"
    assert [(v.name, v.dtype, v.shape, v.bytes) for v in report.variables] == [
        ("b", "float32", (2,), 8),
        ("w", "float32", (3, 2), 24),
    ]
    assert report.variable_bytes == 32
    assert [function.path for function in report.functions] == ["f", "g"]
    assert "(float32[?, 3], 3, training=False) -> {sum: float32[], y: float32[?, 2]}" in (
        report.functions[0].traces
    )
    assert report.node_count == sum(op.count for op in report.ops)


def test_an_op_without_a_kernel_is_listed_with_its_place(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "v1_style" / "model", tmp_path / "model")
    path = tmp_path / "model" / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    for node in message.meta_graphs[0].graph_def.node:
        if node.op == "LookupTableFindV2":
            node.op = "LookupInTheMoon"
    write_changed(path, message)
    (missing,) = inspect(tmp_path / "model").unsupported
    assert (missing.name, missing.count) == ("LookupInTheMoon", 1)
    assert missing.example.startswith("main graph: ")


def test_loops_conditions_and_references_of_version_1_are_supported() -> None:
    report = inspect(GOLDEN / "v1_style" / "model")
    assert report.format == "TensorFlow 1"
    assert {"Merge", "Switch", "VariableV2"} <= {op.name for op in report.ops}
    assert not report.unsupported


def test_an_asset_is_listed_with_its_size(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "lookup_assets" / "model", tmp_path / "model")
    (asset,) = inspect(tmp_path / "model").assets
    assert asset.name == "vocab.txt"
    assert asset.bytes
    shutil.rmtree(tmp_path / "model" / "assets")
    assert inspect(tmp_path / "model").assets[0].bytes is None


def test_a_broken_checkpoint_is_a_problem_and_no_error(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "poly_module" / "model", tmp_path / "model")
    (tmp_path / "model" / "variables" / "variables.index").write_bytes(b"nothing")
    report = inspect(tmp_path / "model")
    assert not report.variables
    assert "variables.index" in report.problems[0]


def test_a_missing_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        inspect(tmp_path / "nowhere")


def test_our_own_models_say_so(tmp_path: Path) -> None:
    module = Module()
    module.v = Variable(np.ones(3, np.float32))  # type: ignore[attr-defined]

    @function(input_signature=[TensorSpec([None, 3], name="x")])
    def scaled(x: Any) -> Any:
        return x * module.v  # type: ignore[attr-defined]

    module.scaled = scaled  # type: ignore[attr-defined]
    saved_model.save(module, tmp_path / "model")
    report = inspect(tmp_path / "model")
    assert report.writer == "pinnace"
    assert not report.unsupported
    assert not report.problems
    text = graph_text(tmp_path / "model")
    assert "Mul(x, " in text
    with pytest.raises(InvalidArgumentError, match="no signature 'other'; the model has: serving"):
        graph_text(tmp_path / "model", "other")
