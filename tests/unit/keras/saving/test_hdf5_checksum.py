"""HDF5 files that were written here have a checksum: no changed bit passes for other weights."""

import random
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from pinnace import keras
from pinnace.framework.errors import DataLossError
from pinnace.keras.saving.hdf5_checksum import ATTRIBUTE
from pinnace.storage.checksum import crc32c


def model(seed: int = 1) -> keras.Model:
    keras.utils.set_random_seed(seed)
    made = keras.Sequential([keras.Input([6]), keras.layers.Dense(5), keras.layers.Dense(2)])
    made.compile("adam", "mse")
    made.fit(np.ones([4, 6], np.float32), np.ones([4, 2], np.float32), verbose=0)
    return made


def weights(path: Path) -> list[np.ndarray]:
    found = model(2)
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
        try:
            found = load(path)
        except DataLossError:
            refused += 1
        else:  # the bit was one of the attribute's name
            np.testing.assert_equal(found, expected)
    assert refused >= 57


@KINDS
def test_a_changed_weight_is_said(tmp_path: Path, name: str, save: Save, load: Load) -> None:
    path = tmp_path / name
    save(path)
    kernel = np.ascontiguousarray(model().get_weights()[0]).tobytes()
    data = bytearray(path.read_bytes())
    data[data.index(kernel) + 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataLossError, match="its checksum is not that of its bytes") as said:
        load(path)
    assert name in str(said.value)
    with h5py.File(path, "r+") as file:  # as the message says
        del file.attrs[ATTRIBUTE]
    assert len(load(path)) == 4


@KINDS
def test_a_file_without_a_checksum_is_read(
    tmp_path: Path, name: str, save: Save, load: Load
) -> None:
    path = tmp_path / name
    save(path)
    with h5py.File(path, "r+") as file:
        del file.attrs[ATTRIBUTE]
    np.testing.assert_equal(load(path), model().get_weights())


@pytest.mark.parametrize("value", [b"", b"other", b"pinnace-crc32c:" + b"f" * 16 + b":00000000", 3])
def test_an_attribute_that_is_no_checksum_is_damage(tmp_path: Path, value: object) -> None:
    path = tmp_path / "m.weights.h5"
    save_weights(path)
    with h5py.File(path, "r+") as file:
        file.attrs[ATTRIBUTE] = np.bytes_(value) if isinstance(value, bytes) else value
    with pytest.raises(DataLossError, match="checksum"):
        weights(path)


def test_the_checksum_is_that_of_all_bytes(tmp_path: Path) -> None:
    path = tmp_path / "m.weights.h5"
    save_weights(path)
    with h5py.File(path, "r") as file:
        mark, place, digits = bytes(file.attrs[ATTRIBUTE]).split(b":")
    assert mark == b"pinnace-crc32c"
    data = path.read_bytes()
    at = int(place, 16)
    assert data[at : at + 8] == digits
    assert crc32c(data[:at] + b"00000000" + data[at + 8 :]) == int(digits, 16)


def test_shards_have_their_own(tmp_path: Path) -> None:
    path = tmp_path / "m.weights.json"
    made = model()
    made.save_weights(path, max_shard_size=1.3e-7)
    shards = sorted(tmp_path.glob("*.weights.h5"))
    assert len(shards) > 1
    for shard in shards:
        with h5py.File(shard, "r") as file:
            assert ATTRIBUTE in file.attrs
    data = bytearray(shards[0].read_bytes())
    kernel = np.ascontiguousarray(made.get_weights()[0]).tobytes()
    data[data.index(kernel)] ^= 1
    shards[0].write_bytes(data)
    with pytest.raises(DataLossError, match="checksum"):
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
