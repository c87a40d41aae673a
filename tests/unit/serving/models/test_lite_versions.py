"""`model.tflite` in a version, with TensorFlow Serving's flags and without."""

from __future__ import annotations

import json
import shutil
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import NotFoundError
from pinnace.serving.command import parse_settings
from pinnace.serving.config.lite_files import LiteFiles
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loaded_model import LoadedModel, TensorDefinition
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.versions import take_fingerprint
from unit.serving.memory_server import running

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("flatbuffers")
from support.lite_files import (
    half_of_records,
    half_plus,
    signature_def,
    signature_defs,
    without_signatures,
)

CLASSIFY = "tensorflow/serving/classify"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version with a SavedModel that adds three, and a .tflite file that adds two."""
    folder = tmp_path_factory.mktemp("both") / "1"
    module = tf.Module()
    spec = tf.TensorSpec(None, tf.float32, name="x")
    module.f = tf.function(lambda x: {"y": x / 2 + 3}, input_signature=[spec])
    tf.saved_model.save(module, str(folder), signatures=module.f)
    content = without_signatures(half_plus(2, "lite:0"))
    (folder / "model.tflite").write_bytes(content)
    return folder


def answer(model: LoadedModel, *shape: int) -> list[float]:
    signature = model.signatures["serving_default"]
    (name,) = signature.inputs
    (found,) = signature.run_other_shapes({name: np.full(shape, 2, np.float32)}).values()
    assert found.shape == shape
    return found.ravel().tolist()


@pytest.mark.parametrize(
    ("files", "value"),
    [(LiteFiles.ALONE, 4.0), (LiteFiles.PREFERRED, 3.0), (LiteFiles.REQUIRED, 3.0)],
)
def test_the_flags_choose_the_file(both: Path, files: LiteFiles, value: float) -> None:
    model = load_model(both, (), files)
    for shape in ((1,), (3,), (1, 1), (4, 1), (2, 3)):
        assert set(answer(model, *shape)) == {value}


def test_without_a_file_the_saved_model_is_served_or_nothing(both: Path, tmp_path: Path) -> None:
    folder = tmp_path / "2"
    shutil.copytree(both, folder)
    (folder / "model.tflite").rename(folder / "other.tflite")
    assert answer(load_model(folder, (), LiteFiles.PREFERRED), 1) == [4.0]
    with pytest.raises(NotFoundError, match=r"model\.tflite is missing, which --use_tflite_model"):
        load_model(folder, (), LiteFiles.REQUIRED)


def test_tags_are_of_saved_models(both: Path) -> None:
    assert answer(load_model(both, ("serve", "gpu"), LiteFiles.PREFERRED), 1) == [3.0]


def test_definitions_are_those_of_the_file(tmp_path: Path) -> None:
    """Batches of any size are accepted, and requests are joined."""
    messages = signature_defs(rows=signature_def({"x": "lite:0"}, {"scores": "y:0"}, CLASSIFY))
    file = tmp_path / "model.tflite"
    file.write_bytes(without_signatures(half_plus(2, "lite"), messages))
    for files in LiteFiles:
        model = load_model(file, (), files)
        (definition,) = model.definitions.values()
        assert definition.inputs == {"x": TensorDefinition("DT_FLOAT", "lite", (1, 1))}
        assert definition.outputs == {"scores": TensorDefinition("DT_FLOAT", "y", (1, 1))}
        assert definition.method_name == CLASSIFY
        assert model.signatures["rows"].inputs["x"].shape.dims == (None, 1)


def test_a_file_that_changes_beside_a_saved_model_changes_the_version(
    both: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "3"
    shutil.copytree(both, folder)
    before = take_fingerprint(folder)
    (folder / "model.tflite").write_bytes(without_signatures(half_plus(5)))
    assert take_fingerprint(folder) != before


@pytest.mark.parametrize(
    ("verb", "output", "rows"),
    [
        ("classify", "scores", [[["", 3.0]], [["", 2.0]]]),
        ("regress", "outputs", [3.0, 2.0]),
    ],
)
def test_examples_are_answered(verb: str, output: str, rows: list[object], tmp_path: Path) -> None:
    message = signature_def({"inputs": "records"}, {output: "y"}, f"tensorflow/serving/{verb}")
    (tmp_path / "m" / "1").mkdir(parents=True)
    content = without_signatures(half_of_records(), signature_defs(serving_default=message))
    (tmp_path / "m" / "1" / "model.tflite").write_bytes(content)
    settings = Settings(models=(ModelConfig("m", str(tmp_path / "m")),), file_system_poll_s=0)
    loader = partial(load_model, lite_files=LiteFiles.PREFERRED)
    with running(settings, loader) as server:
        body = json.dumps({"examples": [{"x": 2.0}, {}]})
        reply = server.ask("POST", f"/v1/models/m:{verb}", content=body)
    assert reply.json() == {"results": rows}


@pytest.mark.parametrize(
    ("flags", "files"),
    [
        ([], LiteFiles.ALONE),
        (["--prefer_tflite_model"], LiteFiles.PREFERRED),
        (["--prefer-tflite-model=true"], LiteFiles.PREFERRED),
        (["--prefer_tflite_model=false"], LiteFiles.ALONE),
        (["--prefer_tflite_model", "--use_tflite_model=true"], LiteFiles.REQUIRED),
    ],
)
def test_flags(flags: list[str], files: LiteFiles) -> None:
    settings, remarks = parse_settings(["m=models", *flags])
    assert settings.lite_files is files
    assert not remarks
