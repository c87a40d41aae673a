"""Files as written on Windows: its path separator, line ends, and byte order marks before JSON.

The values are those of the same file as Keras wrote it here.
"""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import DataLossError
from support.golden import golden

GOLDEN = golden("keras_files/keras_2").parent
FILES = ["keras_2_13/nested", "keras_2_14/recurrent", "keras_2/recurrent", "keras_3/dense"]
Members = dict[str, bytes]


def members_of(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path: Path, members: Members) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo("x")
            info.filename = name  # unchanged: ZipInfo would replace the separator
            archive.writestr(info, data)
    return path


def grouped(members: Members, name_of: Callable[[str], str]) -> Members:
    memory = io.BytesIO()
    weights = io.BytesIO(members["model.weights.h5"])
    with h5py.File(weights) as old, h5py.File(memory, "w") as new:

        def copy(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                group, _, number = name.rpartition("/")
                new.create_dataset(f"{name_of(group)}/{number}", data=item[()])

        old.visititems(copy)
    return {**members, "model.weights.h5": memory.getvalue()}


def back(name: str) -> str:
    return name.replace("/", "\\")


def lines(data: bytes) -> bytes:
    return json.dumps(json.loads(data), indent=2).replace("\n", "\r\n").encode()


def texts(members: Members, change: Callable[[bytes], bytes]) -> Members:
    return {
        name: change(data) if name.endswith(".json") else data for name, data in members.items()
    }


def named(members: Members, change: Callable[[str], str]) -> Members:
    return {change(name): data for name, data in members.items()}


WAYS: dict[str, Callable[[Members], Members]] = {
    "groups, vars too": lambda m: grouped(m, back),
    "groups without vars": lambda m: grouped(
        m, lambda name: back(name.removesuffix("/vars")) + "/vars" if "/" in name else name
    ),
    "ends of lines": lambda m: texts(m, lines),
    "a mark before JSON": lambda m: texts(m, lambda data: b"\xef\xbb\xbf" + data),
    "both": lambda m: texts(m, lambda data: b"\xef\xbb\xbf" + lines(data)),
    "members below .": lambda m: named(m, lambda name: f".\\{name}"),
    "members below ./": lambda m: named(m, lambda name: f"./{name}"),
    "a folder": lambda m: {"assets\\": b"", **m},
    "a folder of today": lambda m: {"assets/": b"", **m},
    "all of it": lambda m: {
        "assets\\": b"",
        **named(texts(grouped(m, back), lines), lambda name: f".\\{name}"),
    },
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("file", FILES)
def test_the_weights_are_found(file: str, way: str, tmp_path: Path) -> None:
    source = (GOLDEN / file).with_suffix(".keras")
    path = packed(tmp_path / "windows.keras", WAYS[way](members_of(source)))
    wanted = tf.keras.models.load_model(source, compile=False)
    found = tf.keras.models.load_model(path, compile=False)
    assert len(found.weights) == len(wanted.weights) > 0
    for ours, theirs in zip(found.weights, wanted.weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.filterwarnings("ignore:load_weights. Skipping variable loading for optimizer")
@pytest.mark.parametrize("way", [".weights.h5", "config"])
def test_weights_and_configurations_alone(way: str, tmp_path: Path) -> None:
    source = (GOLDEN / FILES[1]).with_suffix(".keras")
    members = members_of(source)
    wanted = tf.keras.models.load_model(source, compile=False)
    model = tf.keras.models.clone_model(wanted)
    if way == "config":
        config = lines(members["config.json"]).decode()
        model = tf.keras.models.model_from_json(config)
    path = tmp_path / "windows.weights.h5"
    path.write_bytes(grouped(members, back)["model.weights.h5"])
    model.load_weights(path)
    for ours, theirs in zip(model.weights, wanted.weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", ["/", "\\"])
def test_a_vocabulary_is_read_by_its_lines(separator: str, end: str, tmp_path: Path) -> None:
    """A line ends with Keras's line end, not with every line end that Python knows."""
    tokens = ["", "[UNK]", "äpfel", "a\x0bb", "c\u2028d", "e\x85f"]
    layer = tf.keras.layers.StringLookup(mask_token="")
    model = tf.keras.Sequential([tf.keras.Input((1,), dtype="string"), layer])
    model.save(tmp_path / "here.keras")
    members = members_of(tmp_path / "here.keras")
    name = separator.join(("assets", "layers", "string_lookup", "vocabulary.txt"))
    members[name] = end.join(tokens).encode()
    found = tf.keras.models.load_model(packed(tmp_path / "windows.keras", members))
    assert found.layers[-1].get_vocabulary() == tokens


@pytest.mark.parametrize("name", ["..\\x", "a\\..\\x", "\\x", "C:\\x", "\\\\server\\x"])
def test_names_that_lead_out_are_refused(name: str, tmp_path: Path) -> None:
    members = members_of((GOLDEN / FILES[3]).with_suffix(".keras"))
    path = packed(tmp_path / "windows.keras", {**members, name: b""})
    with pytest.raises(DataLossError, match="has no name inside of an archive"):
        tf.keras.models.load_model(path)
