"""`pinnace run` reproduces the outputs that TensorFlow recorded."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.command_line import pinnace
from support.golden import FOLDER

SAVED_MODELS = FOLDER / "saved_models"
pytest.importorskip("onnxruntime")
_KEY = re.compile(r"(\d+)/([^@][^/]*)/(in|out)/([^:]+)\Z")
# Models whose cases change variables, or have dtypes without an .npy form.
_WITH_RECORDS = ["keras_mlp", "keras_cnn", "keras_lstm", "multi_io", "several_signatures"]


def first_case(name: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The first recorded call of a signature: its name, inputs and outputs."""
    with np.load((SAVED_MODELS / f"{name}") / "io.npz") as file:
        keys = [match for match in map(_KEY.match, sorted(file.files)) if match]
        first = keys[0][1]
        found: dict[str, dict[str, Any]] = {"in": {}, "out": {}}
        for match in keys:
            if match[1] == first:
                found[match[3]][match[4]] = file[match[0]]
        return keys[0][2], found["in"], found["out"]


@pytest.mark.parametrize("name", _WITH_RECORDS)
def test_outputs_are_those_of_tensorflow(name: str, tmp_path: Path) -> None:
    signature, inputs, outputs = first_case(name)
    np.savez(tmp_path / "in.npz", **inputs)
    given = [f"--inputs={key}={tmp_path}/in.npz[{key}]" for key in inputs]
    model = (SAVED_MODELS / f"{name}") / "model"
    answer = pinnace(
        "run", model, "--signature", signature, *given, "--output-dir", tmp_path / "out"
    )
    assert answer.code == 0, answer.err
    for key, wanted in outputs.items():
        assert key in answer.out
        found = np.load(tmp_path / "out" / f"{key}.npy")
        # float32 sums in another order than TensorFlow's.
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_strings_go_in_and_out(tmp_path: Path) -> None:
    model = (SAVED_MODELS / "dtypes") / "model"
    archive = tmp_path / "out.npz"
    answer = pinnace(
        "run", model, "--signature", "strings", "--random", "--output-npz", archive, "--json"
    )
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    with np.load(archive) as stored:
        assert {key: stored[key].astype("U").tolist() for key in told if key == "upper"} == {
            "upper": told["upper"]
        }
        assert told["upper"] == ["TEXT"]


def test_files_are_not_replaced_unless_asked(tmp_path: Path) -> None:
    model = (SAVED_MODELS / "keras_mlp") / "model"
    arguments = ["run", model, "--random", "--output-dir", tmp_path]
    assert pinnace(*arguments).code == 0
    again = pinnace(*arguments)
    assert again.code == 1
    assert "Try: --overwrite" in again.err
    assert pinnace(*arguments, "--overwrite").code == 0


def test_only_the_outputs_asked_for_are_printed() -> None:
    model = (SAVED_MODELS / "poly_module") / "model"
    arguments = ["run", model, "--inputs", "x=[[1, 2, 3]]", "--json"]
    assert set(json.loads(pinnace(*arguments, "--outputs", "sum").out)) == {"sum"}
    wrong = pinnace(*arguments, "--outputs", "summ")
    assert wrong.code == 1
    assert "Try: sum" in wrong.err


def test_a_missing_input_is_answered_with_a_call_that_works() -> None:
    model = (SAVED_MODELS / "keras_mlp") / "model"
    answer = pinnace("run", model)
    assert answer.code == 1
    found = re.search(r"--inputs '(.*?)'", answer.err)
    assert found is not None
    assert pinnace("run", model, "--inputs", found[1]).code == 0


def test_times_are_told() -> None:
    model = (SAVED_MODELS / "keras_mlp") / "model"
    told = json.loads(pinnace("run", model, "--random", "--time", "--json").out)
    assert set(told["times"]) == {"load_s", "first_s", "median_s"}
    assert all(one > 0 for one in told["times"].values())


def test_an_exported_file_gives_the_same(tmp_path: Path) -> None:
    model = (SAVED_MODELS / "keras_mlp") / "model"
    file = tmp_path / "model.onnx"
    assert pinnace("export", model, file).code == 0
    answers = [
        json.loads(pinnace("run", one, "--random", "--json").out)["output_0"]
        for one in (model, file)
    ]
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-5)
    refused = pinnace("run", file, "--signature", "serve")
    assert refused.code == 1
    file.write_bytes(b"nothing")
    broken = pinnace("run", file, "--random")
    assert broken.code == 1
    assert "ONNX Runtime refuses it" in broken.err


def test_a_profile_is_printed_and_written(tmp_path: Path) -> None:
    signature, inputs, outputs = first_case("keras_mlp")
    np.savez(tmp_path / "in.npz", **inputs)
    given = [f"--inputs={key}={tmp_path}/in.npz[{key}]" for key in inputs]
    model = (SAVED_MODELS / "keras_mlp") / "model"
    trace = tmp_path / "trace.json"
    answer = pinnace(
        *("run", model, "--signature", signature, *given, "--profile-to", trace),
        *("--output-dir", tmp_path / "out"),
    )
    assert answer.code == 0, answer.err
    assert "GFLOP/s" in answer.out
    assert "machine code" in answer.out  # the whole plan as one kernel
    assert "MatMul" in trace.read_text()
    events = json.loads(trace.read_text())["traceEvents"]
    assert any(event.get("ph") == "X" and event["dur"] > 0 for event in events)
    for key, wanted in outputs.items():
        found = np.load(tmp_path / "out" / f"{key}.npy")
        # The tolerance without a profile: float32 sums in another order than TensorFlow's.
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_profile_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    model = (SAVED_MODELS / "keras_mlp") / "model"
    (tmp_path / "file").write_text("")
    answer = pinnace("run", model, "--random", "--profile-to", tmp_path / "file" / "trace.json")
    assert answer.code == 1
    assert f"cannot make {tmp_path / 'file'}" in answer.err
    assert "Traceback" not in answer.err
