"""Help, usage errors, and errors for wrong paths."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pinnace.serving.flags import parser, respelt
from support.command_line import pinnace
from support.golden import FOLDER

SAVED_MODELS = FOLDER / "saved_models"
COMMANDS = ["show", "run", "diff", "edit", "scan", "export", "serve"]


def test_the_overview_names_every_command() -> None:
    answer = pinnace("--help")
    assert answer.code == 0
    assert all(re.search(rf"\b{name}\b", answer.out) for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    answer = pinnace(command, "--help")
    assert answer.code == 0
    assert f"usage: pinnace {command}" in answer.out.lower()


def test_the_version_is_printed() -> None:
    answer = pinnace("--version")
    assert answer.code == 0
    assert re.fullmatch(r"pinnace \d+\.\d+\S*\n", answer.out)


@pytest.mark.parametrize(
    "arguments", [["shw"], ["show"], ["show", "--nonsense"], ["run", "a", "b"], ["diff", "a"]]
)
def test_a_wrong_call_is_one_line_and_advice(arguments: list[str]) -> None:
    answer = pinnace(*arguments)
    assert answer.code == 2
    first, second = answer.err.splitlines()
    assert first.startswith("pinnace")
    assert re.match(r"  Try: pinnace .*--help", second)


@pytest.mark.parametrize(
    ("command", "code"), [("show", 1), ("run", 1), ("export", 1), ("diff", 2), ("scan", 2)]
)
def test_a_path_that_is_wrong_is_an_error(command: str, code: int, tmp_path: Path) -> None:
    missing = tmp_path / "no" / "model"
    arguments = [command, missing, *([tmp_path / "x"] if command in ("export", "diff") else [])]
    answer = pinnace(*arguments)
    assert answer.code == code
    assert answer.err.startswith(f"pinnace {command}: ")
    assert str(missing) in answer.err
    assert "Traceback" not in answer.err


def test_a_path_that_is_nearly_right_is_put_right() -> None:
    model = SAVED_MODELS / "keras_mlp"
    typo = model.parent / "keras_mpl"
    assert f"Try: {model}" in pinnace("show", typo).err
    assert f"Try: {model / 'model'}" in pinnace("show", model).err


def test_a_missing_file_is_not_taken_for_a_folder_with_a_name_like_it(tmp_path: Path) -> None:
    saved = tmp_path / "models" / "sum" / "1"
    saved.mkdir(parents=True)
    (saved / "saved_model.pb").touch()
    assert pinnace("edit", tmp_path / "model.keras", tmp_path / "x").err.endswith(f"Try: {saved}\n")
    (tmp_path / "modell.keras").touch()
    told = pinnace("edit", tmp_path / "model.keras", tmp_path / "x").err
    assert told.endswith(f"Try: {tmp_path / 'modell.keras'}\n")


def test_the_newest_version_of_a_folder_is_taken(tmp_path: Path) -> None:
    for version in ("2", "10"):
        (tmp_path / version).symlink_to((SAVED_MODELS / "keras_mlp") / "model")
    assert str(tmp_path / "10") in pinnace("show", tmp_path).out
    inside = (SAVED_MODELS / "keras_mlp") / "model" / "saved_model.pb"
    assert pinnace("show", inside).code == 0


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(b"x")
    assert "weights alone" in pinnace("show", path).err
    lite = tmp_path / "a.tflite"
    lite.write_bytes(b"x")
    assert "is not a .tflite file" in pinnace("show", lite).err
    keras = tmp_path / "a.keras"
    keras.write_bytes(b"x")
    assert f"Try: pinnace scan {keras}" in pinnace("show", keras).err


def test_the_shell_completes_commands() -> None:
    environment = {
        **os.environ,
        "_PINNACE_COMPLETE": "complete_bash",
        "COMP_WORDS": "pinnace s",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pinnace.deploy.cli.main"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["show", "scan", "score", "serve"]


@pytest.mark.parametrize(
    ("command", "words"),
    [("run", ".npz[key]"), ("export", "[batch, channels, ...]")],
)
def test_square_brackets_of_help_texts_are_shown(
    command: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert words in pinnace(command, "--help").out


def test_a_folder_of_models_is_told_how_to_serve_them(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        version = tmp_path / name / "1"
        version.mkdir(parents=True)
        (version / "saved_model.pb").touch()
    answer = pinnace("serve", "--model", tmp_path, "--rest_api_port", "0")
    assert answer.code == 1
    told = " ".join(f"--model {name}={tmp_path / name}" for name in ("a", "b", "c"))
    assert f"Try: {told} and 1 more" in answer.err


@pytest.mark.parametrize("flag", ["cors", "gzip", "model_control", "health_without_key"])
@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([], True),
        (["true"], True),
        (["false"], False),
        (["0"], False),
        (["1"], True),
        (["FALSE"], False),
    ],
)
def test_a_switch_takes_its_value_beside_it(flag: str, given: list[str], wanted: bool) -> None:
    for words in ([f"--{flag}", *given], [f"--{flag.replace('_', '-')}", *given]):
        found = parser().parse_args(respelt([*words, "--model", "m=there"]))
        assert getattr(found, flag) is wanted
