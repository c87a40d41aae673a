"""HDF5 files written here are verified when they are read, and can be edited with h5py."""

import functools
import json
import math
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from pinnace import keras
from pinnace.framework.errors import DataLossError
from pinnace.keras.saving import hdf5_checksum


def model(seed: int = 1) -> keras.Model:
    keras.utils.set_random_seed(seed)
    made = keras.Sequential([keras.Input([60]), keras.layers.Dense(50), keras.layers.Dense(2)])
    made.compile("adam", "mse")
    made.fit(np.ones([4, 60], np.float32), np.ones([4, 2], np.float32), verbose=0)
    return made


@functools.cache
def another() -> tuple[keras.Model, list[np.ndarray]]:
    """A trained model of other weights, and these."""
    made = model(2)
    return made, made.get_weights()


def weights(path: Path) -> list[np.ndarray]:
    found, own = another()
    found.set_weights(own)
    found.load_weights(path)
    return found.get_weights()


def whole(path: Path) -> list[np.ndarray]:
    return keras.models.load_model(path).get_weights()


def save_weights(path: Path) -> None:
    model().save_weights(path)


def save_whole(path: Path) -> None:
    model().save(path)


KINDS = pytest.mark.parametrize(
    ("name", "save", "load"),
    [
        ("m.weights.h5", save_weights, weights),
        ("m.h5", save_whole, whole),
        ("m.h5", save_whole, weights),
    ],
    ids=["weights", "whole", "weights of whole"],
)
Save = Callable[[Path], None]
Load = Callable[[Path], list[np.ndarray]]


@KINDS
def test_no_changed_bit_gives_other_weights(
    tmp_path: Path, name: str, save: Save, load: Load
) -> None:
    path = tmp_path / name
    save(path)
    expected = model().get_weights()
    np.testing.assert_equal(load(path), expected)
    data = path.read_bytes()
    draw = random.Random(5)
    refused = 0
    for _ in range(60):
        changed = bytearray(data)
        changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                found = load(path)
            except (DataLossError, ValueError, UserWarning):
                refused += 1
            else:  # unused bytes, or the name of a layer
                np.testing.assert_equal(found, expected)
    assert refused >= 20  # weights and optimizer are most of the file


@KINDS
def test_a_changed_weight_is_said(tmp_path: Path, name: str, save: Save, load: Load) -> None:
    path = tmp_path / name
    save(path)
    for index, array in enumerate(model().get_weights()):
        raw = np.ascontiguousarray(array).tobytes()
        data = bytearray(path.read_bytes())
        at = data.index(raw) + len(raw) // 2
        for bit in range(8):
            changed = bytearray(data)
            changed[at] ^= 1 << bit
            damaged = path.with_name(f"{index}-{bit}-{name}")
            damaged.write_bytes(changed)
            with pytest.raises(DataLossError, match="damaged") as said:
                load(damaged)
            assert damaged.name in str(said.value)


@pytest.mark.parametrize(
    ("name", "before"), [("model_config", b'"name": "'), ("training_config", b"0.")]
)
def test_a_changed_configuration_is_said(tmp_path: Path, name: str, before: bytes) -> None:
    path = tmp_path / "m.h5"
    save_whole(path)
    with h5py.File(path, "r") as file:
        text = file.attrs[name]
    raw = text.encode() if isinstance(text, str) else bytes(text)
    data = bytearray(path.read_bytes())
    at = raw.index(before) + len(before)
    data[data.index(raw) + at] ^= 1  # another name or number, and JSON as before
    path.write_bytes(data)
    with pytest.warns(UserWarning, match="not the one that was saved: the file was edited, or"):
        whole(path)


def config(change: Callable[[dict[str, Any]], None]) -> Callable[[h5py.File], None]:
    def edit(file: h5py.File) -> None:
        found = json.loads(file.attrs["model_config"])
        change(found["config"])
        file.attrs["model_config"] = json.dumps(found).encode()

    return edit


def without_training(file: h5py.File) -> None:
    del file.attrs["training_config"]
    del file["optimizer_weights"]


EDITS: dict[str, tuple[Callable[[h5py.File], None], bool]] = {
    "name": (config(lambda found: found.update(name="other")), True),
    "frozen": (config(lambda found: found["layers"][1]["config"].update(trainable=False)), True),
    "text instead of bytes": (
        lambda file: file.attrs.create("model_config", str(file.attrs["model_config"])),
        False,
    ),
    "no training": (without_training, True),
    "version": (lambda file: file.attrs.create("keras_version", "3.0.0"), False),
    "attribute of one's own": (lambda file: file.attrs.create("author", "me"), False),
    "group of one's own": (lambda file: file.create_group("notes"), False),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_file_that_was_edited_with_h5py_opens(tmp_path: Path, edit: str) -> None:
    path = tmp_path / "m.h5"
    save_whole(path)
    change, is_said = EDITS[edit]
    with h5py.File(path, "r+") as file:
        change(file)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        np.testing.assert_equal(whole(path), model().get_weights())
    told = [str(one.message) for one in said]
    assert any("its configuration is not the one that was saved" in one for one in told) == is_said
    if is_said:  # as the message says
        h5py.File(path, "r+").attrs.pop(hdf5_checksum.ATTRIBUTE)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            whole(path)
        assert not any("not the one that was saved" in str(one.message) for one in said)


@KINDS
def test_a_weight_that_was_edited_with_h5py_is_read(
    tmp_path: Path, name: str, save: Save, load: Load
) -> None:
    path = tmp_path / name
    save(path)
    first, bias, *rest = model().get_weights()
    changed = 0
    with h5py.File(path, "r+") as file:

        def edit(name: str, item: Any) -> None:
            nonlocal changed
            if isinstance(item, h5py.Dataset) and "optimizer" not in name:
                if item.shape == first.shape:
                    item[...] = 3
                    changed += 1
                elif item.shape == bias.shape:
                    item[0] = 5
                    changed += 1

        file.visititems(edit)
    assert changed == 2
    expected_bias = bias.copy()
    expected_bias[0] = 5
    np.testing.assert_equal(load(path), [np.full_like(first, 3), expected_bias, *rest])


@pytest.mark.parametrize("shape", [(), (0,), (3,), (4, 0, 2), (70, 80), (5, 33, 1, 64)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8", "bool"])
def test_every_array_has_a_checksum(tmp_path: Path, shape: tuple[int, ...], dtype: str) -> None:
    size = math.prod(shape) * np.dtype(dtype).itemsize
    value = (np.frombuffer(np.random.default_rng(1).bytes(size), np.uint8) | 1).view(dtype)
    value = np.minimum(value.view(np.uint8), 1).view(bool) if dtype == "bool" else value
    value = value.reshape(shape)
    path = tmp_path / "a.h5"
    with path.open("w+b") as raw, hdf5_checksum.create(raw) as file:
        hdf5_checksum.put(file, "a", value)
    with h5py.File(path) as file:
        found = file["a"]
        assert found.dtype == value.dtype
        assert found[()].tobytes() == value.tobytes()
    data = bytearray(path.read_bytes())
    if value.nbytes > 2:
        at = data.index(value.tobytes()) + value.nbytes // 2
        data[at] ^= 1
        path.write_bytes(data)
        with pytest.raises((OSError, KeyError, RuntimeError)), h5py.File(path) as file:
            file["a"][()]


@pytest.mark.parametrize(
    ("shape", "item"), [((1 << 20, 1 << 10), 4), ((3, 1 << 30), 4), ((1 << 33,), 1), ((5, 7), 8)]
)
def test_a_chunk_is_small_enough_for_hdf5(shape: tuple[int, ...], item: int) -> None:
    chunk = hdf5_checksum._chunk(shape, item)
    assert len(chunk) == len(shape)
    assert all(1 <= part <= size for part, size in zip(chunk, shape, strict=True))
    assert np.prod(chunk) * item < 1 << 32


def test_shards_have_their_own(tmp_path: Path) -> None:
    path = tmp_path / "m.weights.json"
    made = model()
    made.save_weights(path, max_shard_size=1.13e-5)
    shards = sorted(tmp_path.glob("*.weights.h5"))
    assert len(shards) > 1
    data = bytearray(shards[0].read_bytes())
    kernel = np.ascontiguousarray(made.get_weights()[0]).tobytes()
    data[data.index(kernel)] ^= 1
    shards[0].write_bytes(data)
    with pytest.raises(DataLossError, match="damaged"):
        weights(path)


@pytest.mark.parametrize("member", ["model.weights.h5", "config.json"])
def test_a_changed_bit_in_an_archive_is_said(tmp_path: Path, member: str) -> None:
    path = tmp_path / "m.keras"
    save_whole(path)
    data = path.read_bytes()
    kernel = np.ascontiguousarray(model().get_weights()[0]).tobytes()
    at = data.find(kernel) + 1 if member.endswith("h5") else data.find(b'"dense') + 2
    assert at > 2
    changed = bytearray(data)
    changed[at] ^= 1
    path.write_bytes(changed)
    with pytest.raises(DataLossError):
        whole(path)
