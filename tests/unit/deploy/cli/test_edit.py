"""`pinnace edit`: kept signatures answer as before, others are removed."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace import saved_model
from pinnace.framework.errors import InvalidArgumentError
from pinnace.saved_model.editing import edit
from pinnace.saved_model.inspection import inspect
from support.command_line import pinnace
from support.golden import FOLDER

SAVED_MODELS = FOLDER / "saved_models"
MODELS = sorted(one.name for one in SAVED_MODELS.iterdir() if one.is_dir())
_KEY = re.compile(r"(\d+)/([^@][^/]*)/(in|out)/([^:]+)(:bfloat16)?\Z")


def recorded(name: str) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """The recorded calls of signatures, in order."""
    calls: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {}
    with np.load(SAVED_MODELS / name / "io.npz") as file:
        for match in filter(None, map(_KEY.match, sorted(file.files))):
            call = calls.setdefault(match[1], (match[2], {}, {}))
            value = file[match[0]]
            if match[5]:
                import ml_dtypes

                value = value.view(ml_dtypes.bfloat16)
            value = value.astype(object) if value.dtype.kind == "S" else value
            call[1 if match[3] == "in" else 2][match[4]] = value
    return [calls[number] for number in sorted(calls)]


@pytest.mark.parametrize("name", MODELS)
def test_an_edited_model_answers_as_tensorflow_recorded(name: str, tmp_path: Path) -> None:
    edit(SAVED_MODELS / name / "model", tmp_path / "out")
    signatures = saved_model.load(tmp_path / "out").signatures
    for signature, inputs, outputs in recorded(name):
        found = signatures[signature].run_arrays(inputs)
        for key, wanted in outputs.items():
            if wanted.dtype == object:
                assert np.asarray(found[key]).tolist() == wanted.tolist()
            else:
                # float32 and bfloat16 sums in another order than TensorFlow's.
                np.testing.assert_allclose(
                    np.asarray(found[key], np.float64),
                    np.asarray(wanted, np.float64),
                    rtol=1e-4,
                    atol=1e-4,
                )


def test_what_is_not_reached_is_left_out(tmp_path: Path) -> None:
    model = SAVED_MODELS / "several_signatures" / "model"
    done = edit(model, tmp_path / "out", ["b"], {"b": "serving_default"}, ["serve", "small"])
    report = inspect(tmp_path / "out")
    assert [one.name for one in report.signatures] == ["serving_default"]
    assert report.tags == ("serve", "small")
    assert report.functions == ()
    before = {one.name: one for one in inspect(model).variables}
    after = {one.name: one for one in report.variables}
    assert after.keys() < before.keys()
    assert all(before[name] == one for name, one in after.items())
    assert done.variables == (len(after), len(before))
    assert done.bytes[0] < done.bytes[1]
    assert done.dropped_signatures == ("a", "describe")


def test_the_answer_has_a_new_name(tmp_path: Path) -> None:
    model = SAVED_MODELS / "several_signatures" / "model"
    answer = pinnace("edit", model, tmp_path / "out", "--keep-signature=b", "--rename=b=other")
    assert answer.code == 0, answer.err
    assert "left out: a, describe" in answer.out
    old = saved_model.load(model).signatures["b"]
    new = saved_model.load(tmp_path / "out").signatures["other"]
    x = {"x": np.ones((2, 4), np.float32), "temperature": np.float32(2)}
    for key, value in old.run_arrays(x).items():
        # The third call of a signature may round differently from the first.
        np.testing.assert_allclose(new.run_arrays(x)[key], value, rtol=1e-6)


def test_nothing_is_replaced_unless_asked(tmp_path: Path) -> None:
    model = tmp_path / "model"
    edit(SAVED_MODELS / "several_signatures" / "model", model)
    before = (model / "saved_model.pb").read_bytes()
    refused = pinnace("edit", model, model, "--keep-signature", "a")
    assert refused.code == 1
    assert "Try: --overwrite" in refused.err
    assert (model / "saved_model.pb").read_bytes() == before
    assert pinnace("edit", model, model, "--keep-signature", "a", "--overwrite").code == 0
    assert [one.name for one in inspect(model).signatures] == ["a"]
    assert [one.name for one in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("keep", "rename", "words"),
    [
        (["nothing"], {}, "no signature 'nothing'"),
        ([], {}, "no signature would be left"),
        (["a"], {"b": "c"}, "renamed, but not kept"),
        (None, {"a": "b"}, "two signatures"),
        (None, {"a": "__saved_model_init_op"}, "cannot be named"),
        (None, {"a": ""}, "cannot be named"),
    ],
)
def test_a_wrong_edit_writes_nothing(
    keep: list[str] | None, rename: dict[str, str], words: str, tmp_path: Path
) -> None:
    model = SAVED_MODELS / "several_signatures" / "model"
    with pytest.raises(InvalidArgumentError, match=words):
        edit(model, tmp_path / "out", keep, rename)
    assert not list(tmp_path.iterdir())


def test_a_wrong_name_is_answered_with_the_right_one(tmp_path: Path) -> None:
    model = SAVED_MODELS / "several_signatures" / "model"
    answer = pinnace("edit", model, tmp_path / "out", "--keep-signature", "describ")
    assert answer.code == 1
    assert "Try: describe" in answer.err
    assert pinnace("edit", model, tmp_path / "out", "--rename", "a").code == 1
