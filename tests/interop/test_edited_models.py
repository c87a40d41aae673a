"""TensorFlow opens models from `pinnace edit` in three ways, and computes the recorded results."""

from pathlib import Path

import pytest

from pinnace.saved_model.editing import edit
from support.checked_models import failures
from support.golden import FOLDER

SAVED_MODELS = FOLDER / "saved_models"


@pytest.mark.parametrize(
    "name", ["several_signatures", "lookup_assets", "keras_transformer", "counter", "v1_mapped"]
)
def test_tensorflow_opens_an_edited_model(
    name: str, tmp_path: Path, tensorflow_python: str
) -> None:
    edit(SAVED_MODELS / name / "model", tmp_path / "out")
    arrays = SAVED_MODELS / name / "io.npz"
    assert failures(tmp_path / "out", arrays, "v2,v1,c", tensorflow_python) == {}
