"""`pinnace export`: its files, what it prints, its exit code."""

import json
from pathlib import Path

import pytest

from support.command_line import pinnace
from support.golden import FOLDER

pytest.importorskip("onnxruntime")
MODELS = FOLDER / "saved_models"


def test_a_report_and_weights_aside(tmp_path: Path) -> None:
    target, report = tmp_path / "m.onnx", tmp_path / "report.json"
    model = MODELS / "keras_transformer" / "model"
    answer = pinnace("export", model, target, "--report", report, "--external-data")
    assert answer.code == 0, answer.err
    assert f"{target}.data: its weights" in answer.out
    told = json.loads(report.read_text())
    assert told["status"] == "exported"
    assert told["data_path"] == f"{target}.data"
    assert (tmp_path / "m.onnx.data").stat().st_size > told["weight_bytes"] / 2


def test_weights_of_some_bytes_stay(tmp_path: Path) -> None:
    model = MODELS / "keras_mlp" / "model"
    assert pinnace("export", model, tmp_path / "m.onnx", "--external-data").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_a_refusal_is_an_exit_code_and_a_report(tmp_path: Path) -> None:
    target, report = tmp_path / "m.onnx", tmp_path / "report.md"
    model = MODELS / "lookup_assets" / "model"
    answer = pinnace("export", model, target, "--report", report)
    assert answer.code == 1
    assert "cannot be written in ONNX" in answer.err
    assert not target.exists()
    assert report.read_text().startswith("# Not exported")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--signature", "nothing"), "has no signature 'nothing'"),
        (("--opset", "99"), "opset must be from 18 to 26"),
        (("--report", "report.txt"), "a report ends in .json or .md"),
        (("--int8-static",), "--int8-static and --calibration FILE.npz belong together"),
        (("--float16", "--int8"), "a file has one precision"),
    ],
)
def test_a_wrong_option_is_one_line_and_no_file(
    tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    target = tmp_path / "m.onnx"
    answer = pinnace("export", MODELS / "keras_mlp" / "model", target, *arguments)
    assert answer.code == 1
    assert told in answer.err
    assert not list(tmp_path.iterdir())
