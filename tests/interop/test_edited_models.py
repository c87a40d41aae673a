"""TensorFlow opens what `pinnace edit` wrote, by three ways, and computes what it recorded."""

import subprocess
from pathlib import Path

import pytest

from architecture.sources import ROOT
from pinnace.saved_model.editing import edit
from support.golden import FOLDER

CHECK = ROOT / "tests" / "tools" / "tf_check.py"
SAVED_MODELS = FOLDER / "saved_models"


@pytest.mark.parametrize(
    "name", ["several_signatures", "lookup_assets", "keras_transformer", "counter", "v1_mapped"]
)
def test_tensorflow_opens_an_edited_model(
    name: str, tmp_path: Path, tensorflow_python: str
) -> None:
    edit(SAVED_MODELS / name / "model", tmp_path / "out")
    arrays = SAVED_MODELS / name / "io.npz"
    command = [
        tensorflow_python, CHECK, tmp_path / "out", "--io", arrays, "--paths", "v2,v1,c"
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
