"""Models that tensorflowjs wrote give the original results, and damaged ones are refused."""

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace.deploy import onnx, tfjs
from pinnace.framework import dtypes
from pinnace.framework.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    UnimplementedError,
)
from support.command_line import pinnace
from support.golden import FOLDER

MODELS = FOLDER / "tfjs"
NAMES = sorted(
    one.name
    for one in MODELS.iterdir()
    if (one / "model.json").is_file() and not one.name.startswith("layers_")
)
# The effect of one quantisation step of the weights on the outputs.
TOLERANCE = {"mlp_uint8": 5e-3, "mlp_float16": 1e-3}


def feeds_of(model: Any, told: dict[str, Any]) -> dict[str, Any]:
    feeds = {}
    for name, spec in model.array_inputs.items():
        if spec.dtype is dtypes.string:
            feeds[name] = np.array([text.encode() for text in told[name]], object)
        else:
            feeds[name] = np.array(told[name], spec.dtype.numpy)
    return feeds


@pytest.mark.parametrize("name", NAMES)
def test_it_gives_what_tensorflow_gave(name: str) -> None:
    told = json.loads((MODELS / name / "answers.txt").read_text())
    model = tfjs.load(MODELS / name)
    found = model.run_arrays(feeds_of(model, told["inputs"]))
    assert set(found) == set(told["outputs"])
    for key, wanted in told["outputs"].items():
        np.testing.assert_allclose(found[key], wanted, atol=TOLERANCE.get(name, 2e-6), err_msg=key)


def test_the_file_itself_is_as_good_as_its_folder() -> None:
    model = tfjs.load(MODELS / "multi_io" / "model.json")
    assert set(model.array_outputs) == {"first", "second", "pass"}


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of a model, for damaging it."""
    return Path(shutil.copytree(MODELS / "mlp_uint8", tmp_path / "model"))


def changed(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    file = folder / "model.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def first_weight(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = content["weightsManifest"][0]["weights"][0]
    return found


@pytest.mark.parametrize(
    ("change", "kind", "told"),
    [
        (lambda c: c.pop("modelTopology"), InvalidArgumentError, "has no modelTopology"),
        (lambda c: c["modelTopology"].update(node=[]), InvalidArgumentError, "has no nodes"),
        (lambda c: c["modelTopology"].update(node=3), DataLossError, "is damaged"),
        (
            lambda c: c["weightsManifest"][0].update(paths=["../x.bin"]),
            InvalidArgumentError,
            "is not a valid file name",
        ),
        (
            lambda c: c["weightsManifest"][0].update(paths=["/etc/hostname"]),
            InvalidArgumentError,
            "is not a valid file name",
        ),
        (
            lambda c: c["weightsManifest"][0].update(paths=["C:\\x.bin"]),
            InvalidArgumentError,
            "is not a valid file name",
        ),
        (
            lambda c: c["weightsManifest"][0].update(paths=["missing.bin"]),
            DataLossError,
            "the weight file 'missing.bin' is missing",
        ),
        (lambda c: first_weight(c).update(shape=[1 << 39]), DataLossError, "are left in its files"),
        (lambda c: first_weight(c).update(shape=[-1]), InvalidArgumentError, "has the shape"),
        (lambda c: first_weight(c).update(shape="big"), InvalidArgumentError, "has the shape"),
        (lambda c: first_weight(c).update(dtype="int64"), InvalidArgumentError, "has dtype"),
        (lambda c: first_weight(c).pop("name"), InvalidArgumentError, "has no name"),
        (
            lambda c: first_weight(c).update(quantization={"dtype": "uint4"}),
            InvalidArgumentError,
            "has an unknown quantisation",
        ),
        (
            lambda c: first_weight(c).update(name="elsewhere"),
            DataLossError,
            "no weights for the constant",
        ),
        (
            lambda c: c["signature"]["outputs"].update(y={"name": "nothing:0"}),
            InvalidArgumentError,
            "which is not a node",
        ),
        (lambda c: c.update(weightsManifest={}), InvalidArgumentError, "must be a list"),
        (
            lambda c: c.update(format="layers-model"),
            InvalidArgumentError,
            "made of Keras layers",
        ),
    ],
)
def test_a_damaged_model_is_one_clear_error(
    copied: Path, change: Callable[[dict[str, Any]], object], kind: type[Exception], told: str
) -> None:
    changed(copied, change)
    with pytest.raises(kind, match=told) as caught:
        tfjs.load(copied)
    assert "model.json" in str(caught.value)


def test_a_link_out_of_the_folder_is_refused(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(bytes(10_000))
    shard = next(copied.glob("*.bin"))
    shard.unlink()
    shard.symlink_to(tmp_path / "secret.bin")
    with pytest.raises(InvalidArgumentError, match="leads out of the model's folder"):
        tfjs.load(copied)


@pytest.mark.parametrize("kept", [0, 1, 100, -1])
def test_a_shard_that_is_cut_off(copied: Path, kept: int) -> None:
    shard = next(copied.glob("*.bin"))
    shard.write_bytes(shard.read_bytes()[:kept])
    with pytest.raises(DataLossError, match="are left in its files"):
        tfjs.load(copied)


def test_a_shard_of_another_model(copied: Path) -> None:
    shard = next(copied.glob("*.bin"))
    shard.write_bytes(shard.read_bytes() + b"more")
    with pytest.raises(DataLossError, match="4 bytes more than its weights need"):
        tfjs.load(copied)


def test_every_cut_of_the_file_is_an_error(copied: Path) -> None:
    file = copied / "model.json"
    whole = file.read_bytes()
    for kept in range(0, len(whole) - 1, 97):
        file.write_bytes(whole[:kept])
        with pytest.raises(DataLossError, match="is damaged: it is not JSON"):
            tfjs.load(copied)


def test_changed_bytes_are_errors_or_models(copied: Path) -> None:
    file = copied / "model.json"
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(whole), 150):
        content = bytearray(whole)
        content[place] = rng.integers(32, 127)
        file.write_bytes(bytes(content))
        with contextlib.suppress(OpError):
            tfjs.load(copied)


def test_deep_json_is_no_crash(copied: Path) -> None:
    (copied / "model.json").write_text("[" * 200_000)
    with pytest.raises(DataLossError, match="is damaged"):
        tfjs.load(copied)


def test_no_model_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no model\.json"):
        tfjs.load(tmp_path)


def test_something_unknown_that_is_fused_is_refused(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(MODELS / "keras_cnn", tmp_path / "model"))

    def change(content: dict[str, Any]) -> None:
        for node in content["modelTopology"]["node"]:
            if node["op"] == "_FusedConv2D":
                node["attr"]["fused_ops"]["list"]["s"] = ["U3dpc2g="]  # Swish

    changed(folder, change)
    with pytest.raises(UnimplementedError, match="the fused op 'Swish'"):
        tfjs.load(folder)


def test_commands_read_it(tmp_path: Path) -> None:
    folder = MODELS / "keras_separable"
    told = json.loads(pinnace("show", folder, "--json").out)
    assert [one["name"] for one in told["signatures"]] == ["serving_default"]
    assert str(folder) in pinnace("show", folder / "model.json").out.splitlines()[0]
    assert pinnace("run", folder, "--random").code == 0
    target = tmp_path / "again"
    assert pinnace("export", folder, target, "--tfjs").code == 0
    one, other = tfjs.load(folder), tfjs.load(target)
    (name, spec), *_ = one.array_inputs.items()
    x = np.random.default_rng(1).standard_normal([2, *list(spec.shape)[1:]]).astype(np.float32)
    (wanted,), (got,) = (list(f.run_arrays({name: x}).values()) for f in (one, other))
    np.testing.assert_allclose(got, wanted, atol=1e-6)


def test_it_becomes_onnx(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    report = onnx.export(tfjs.load(MODELS / "keras_lstm_v1"), tmp_path / "m.onnx")
    assert report.largest_relative is not None
    assert report.largest_relative < 1e-5


def test_it_is_served() -> None:
    from pinnace.serving.models.loading import load_model
    from pinnace.serving.models.versions import find_versions

    folder = MODELS / "table"
    assert find_versions(str(folder)) == {1: folder}
    model = load_model(folder)
    feeds = {"word": np.array([b"b", b"nothing"], object)}
    found = model.signatures["serving_default"].run_arrays(feeds)
    np.testing.assert_array_equal(found["row"], [[1.0, 1.25], [0.0, 0.25]])
