"""Models of other libraries that a server takes: only their own files are read, nothing is left."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from pinnace.framework.errors import PermissionDeniedError
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.versions import find_versions, take_fingerprint
from support.golden import FOLDER

TFJS = FOLDER / "tfjs"


def kept(folder: Path) -> Path:
    """A model of TensorFlow.js in a version's folder."""
    shutil.copytree(TFJS / "keras_cnn", folder)
    return folder


def test_a_model_of_tensorflow_js_is_a_version(tmp_path: Path) -> None:
    kept(tmp_path / "m" / "3")
    assert list(find_versions(str(tmp_path / "m"))) == [3]
    assert list(find_versions(str(tmp_path / "m" / "3"))) == [1]
    assert load_model(tmp_path / "m" / "3").signatures


def test_no_folder_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    model = load_model(kept(tmp_path / "m"))
    assert model.signatures
    # Private copies lie in one folder, and are removed when nothing uses them.
    assert {path.name for path in scratch.iterdir()} <= {f"pinnace-{os.getuid()}"}


@pytest.mark.parametrize("name", ["group1-shard1of1.bin", "model.json"])
def test_a_link_out_of_the_model_is_refused(name: str, tmp_path: Path) -> None:
    model = kept(tmp_path / "m" / "1")
    outside = tmp_path / "outside"
    shutil.move(model / name, outside)
    (model / name).symlink_to(outside)
    with pytest.raises(PermissionDeniedError, match=name.replace(".", r"\.")):
        load_model(model)


@pytest.mark.parametrize("name", ["group1-shard1of1.bin", "model.json"])
def test_a_file_that_changes_changes_the_version(name: str, tmp_path: Path) -> None:
    model = kept(tmp_path / "m" / "1")
    before = take_fingerprint(model)
    (model / name).write_bytes((model / name).read_bytes() + b" ")
    assert take_fingerprint(model) != before


def test_a_forest_that_changes_changes_the_version(tmp_path: Path) -> None:
    for name in ("header.pb", "data_spec.pb", "nodes-00000-of-00001", "done"):
        (tmp_path / name).write_bytes(b"")
    before = take_fingerprint(tmp_path)
    (tmp_path / "nodes-00000-of-00001").write_bytes(b"other")
    assert take_fingerprint(tmp_path) != before


def test_a_tflite_file_is_a_version(tmp_path: Path) -> None:
    pytest.importorskip("flatbuffers")
    file = FOLDER / "lite" / "dense.tflite"
    (tmp_path / "m" / "7").mkdir(parents=True)
    shutil.copy(file, tmp_path / "m" / "7" / "model.tflite")
    assert list(find_versions(str(tmp_path / "m"))) == [7]
    for path in (file, tmp_path / "m" / "7"):
        assert load_model(path).signatures
    before = take_fingerprint(tmp_path / "m" / "7")
    (tmp_path / "m" / "7" / "model.tflite").write_bytes(file.read_bytes() + b" ")
    assert take_fingerprint(tmp_path / "m" / "7") != before
