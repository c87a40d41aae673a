"""`pinnace export`: its files, output and exit code."""

import json
import os
import shutil
import signal
import stat
from pathlib import Path
from typing import Any, NoReturn

import pytest

import pinnace as tf
from pinnace.deploy.onnx.flow import exporting
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
        (("--report", "report.txt"), "a report must end in .json or .md"),
        (("--int8-static",), "--int8-static and --calibration FILE.npz belong together"),
        (("--int16-static",), "--int16-static and --calibration FILE.npz belong together"),
        (("--int16-static", "--calibration", "rows.npz"), "is for files that end in .tflite"),
        (("--fused-lstm",), "--fused-lstm is for files that end in .tflite"),
        (("--float16", "--int8"), "choose one precision"),
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


# Targets that must not be overwritten.


def test_a_device_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    model = MODELS / "keras_mlp" / "model"
    for arguments in ((model, pipe), (model, tmp_path / "m.onnx", "--report", pipe)):
        answer = pinnace("export", *arguments)
        assert answer.code == 1
        assert "it is a device, a pipe or a socket, not a file" in answer.err
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe.json"]


def test_a_model_is_not_overwritten_with_itself(tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(MODELS / "keras_mlp" / "model", model)
    for name in ("saved_model.pb", "variables/variables.index"):
        before = (model / name).read_bytes()
        answer = pinnace("export", model, model / name)
        assert answer.code == 1
        assert "is a part of the model itself" in answer.err
        assert (model / name).read_bytes() == before
    assert pinnace("export", model, model / "model.onnx").code == 0


def test_a_report_has_a_place_of_its_own(tmp_path: Path) -> None:
    folder, link = tmp_path / "folder.json", tmp_path / "link.json"
    folder.mkdir()
    link.symlink_to("m.onnx")
    model = MODELS / "keras_mlp" / "model"
    for place, told in ((folder, "is a folder"), (link, "model and report cannot both")):
        answer = pinnace("export", model, tmp_path / "m.onnx", "--report", place)
        assert answer.code == 1
        assert str(place) in answer.err
        assert told in answer.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.json", "link.json"]


# Messages.


def test_a_path_is_printed_as_it_is(tmp_path: Path) -> None:
    target = tmp_path / "[bold]x[nope]:smile:.onnx"
    answer = pinnace("export", MODELS / "keras_mlp" / "model", target)
    assert answer.code == 0
    assert answer.out.startswith(f"{target}: ")


def test_effects_that_are_left_out_are_told(tmp_path: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def checked(x: tf.Tensor) -> tf.Tensor:
        tf.debugging.Assert(tf.reduce_all(x < 100.0), [x])
        tf.print("seen", x)
        return x + 1.0

    module = tf.Module()
    module.checked = checked
    tf.saved_model.save(module, tmp_path / "model", signatures=checked)
    answer = pinnace("export", tmp_path / "model", tmp_path / "m.onnx")
    assert answer.code == 0, answer.err
    assert "left out: 1 Assert, 1 PrintV2; an ONNX model neither stops nor prints\n" in answer.out
    quiet = pinnace("export", MODELS / "keras_mlp" / "model", tmp_path / "n.onnx")
    assert quiet.code == 0
    assert "left out" not in quiet.out


def test_being_ended_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[list[Path]] = []

    def ended(*arguments: Any) -> NoReturn:
        del arguments
        written.append(list(tmp_path.iterdir()))
        signal.raise_signal(signal.SIGTERM)
        raise AssertionError

    monkeypatch.setattr(exporting, "check_structure", ended)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as leaving:
        pinnace("export", MODELS / "keras_mlp" / "model", tmp_path / "m.onnx")
    assert leaving.value.code == 128 + signal.SIGTERM
    assert written[0]  # there was something to remove
    assert not list(tmp_path.iterdir())
    assert signal.getsignal(signal.SIGTERM) is before
