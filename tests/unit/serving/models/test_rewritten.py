"""Models of other libraries: only their own files are read, and no files are left behind."""

import os
import shutil
import tempfile
from pathlib import Path

import httpx
import numpy as np
import pytest

from pinnace.framework.errors import PermissionDeniedError
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.versions import find_versions, take_fingerprint
from support.golden import FOLDER
from unit.serving.test_process import process, read_url

TFJS = FOLDER / "tfjs"
COMMAND = "import sys\nfrom pinnace.serving.command import main\nsys.exit(main(sys.argv[1:]))\n"
KINDS = {
    "tfjs": TFJS / "keras_cnn",
    "lite": FOLDER / "lite" / "dense.tflite",
    "module": FOLDER / "jax_exports" / "dynamic" / "module.mlirbc",
    "exported": FOLDER / "jax_exports" / "dynamic" / "export.bin",
    "forest": FOLDER / "forests" / "cart_three" / "model" / "assets",
}


def kept(folder: Path) -> Path:
    """A model of TensorFlow.js in a version's folder."""
    shutil.copytree(TFJS / "keras_cnn", folder)
    return folder


def test_a_model_of_tensorflow_js_is_a_version(tmp_path: Path) -> None:
    kept(tmp_path / "m" / "3")
    assert list(find_versions(str(tmp_path / "m"))) == [3]
    assert list(find_versions(str(tmp_path / "m" / "3"))) == [1]
    assert load_model(tmp_path / "m" / "3").signatures


@pytest.mark.parametrize("numbered", [False, True])
def test_a_server_answers_with_each_kind(numbered: bool, tmp_path: Path) -> None:
    pytest.importorskip("flatbuffers")
    program = tmp_path / "serve.py"
    program.write_text(COMMAND)
    models = dict(KINDS)
    if numbered:  # below a base folder, which no link may leave
        for name in ("tfjs", "forest"):
            models[name] = tmp_path / name
            shutil.copytree(KINDS[name], models[name] / "2")
        models["lite"] = tmp_path / "lite"
        (models["lite"] / "2").mkdir(parents=True)
        shutil.copy(KINDS["lite"], models["lite"] / "2")
    flags = [f"{name}={path}" for name, path in models.items()]
    with process("--rest_api_port=0", *flags, program=program) as server:
        url, _ = read_url(server)
        for name in models:
            reply = httpx.get(f"{url}/v1/models/{name}", timeout=60).json()
            (status,) = reply["model_version_status"]
            assert (name, status["state"]) == (name, "AVAILABLE"), status
            described = httpx.get(f"{url}/v2/models/{name}", timeout=60).json()
            inputs = [
                {
                    "name": one["name"],
                    "datatype": one["datatype"],
                    "shape": [2 if size == -1 else size for size in one["shape"]],
                    "data": np.zeros([2 if size == -1 else size for size in one["shape"]])
                    .astype({"BYTES": "U1", "BOOL": bool}.get(one["datatype"], int))
                    .ravel()
                    .tolist(),
                }
                for one in described["inputs"]
            ]
            answer = httpx.post(
                f"{url}/v2/models/{name}/infer", json={"inputs": inputs}, timeout=60
            )
            assert answer.status_code == 200, (name, answer.text)
            assert answer.json()["outputs"]


def test_no_folder_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    model = load_model(kept(tmp_path / "m"))
    assert model.signatures
    # Private copies are in one folder, and are removed when they are unused.
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
