"""save_weights and load_weights: HDF5 as Keras writes it, TensorFlow's checkpoints."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace import keras
from pinnace.keras import layers


class Nested(keras.Model):
    """A model with layers in attributes, lists, dicts, and a direct weight."""

    def __init__(self) -> None:
        super().__init__()
        self.zuletzt = layers.Dense(2)
        self.anfang = layers.Dense(3)
        self.blocks = [layers.Dense(2), layers.BatchNormalization()]
        self.choices = {"x": layers.Dense(1)}
        self._hidden = layers.Dense(2)
        self.factor = self.add_weight(shape=(1,), name="factor")

    def call(self, x: Any) -> Any:
        y = self.anfang(x)
        for block in self.blocks:
            y = block(y)
        return self._hidden(self.choices["x"](self.zuletzt(y))) * self.factor


def functional() -> Any:
    inputs = keras.Input((6, 4))
    x = layers.MultiHeadAttention(2, 3, dropout=0.1)(inputs, inputs)
    x = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x)
    x = layers.TimeDistributed(layers.Dense(2))(x)
    x = layers.RNN([layers.GRUCell(2), layers.LSTMCell(3)])(x)
    inner = keras.Sequential([keras.Input((3,)), layers.Dense(2), layers.Dense(2)])
    return keras.Model(inputs, inner(x))


X = np.linspace(-1, 1, 48).reshape(2, 6, 4).astype(np.float32)


@pytest.mark.parametrize("make", [Nested, functional])
@pytest.mark.parametrize("name", ["deep/model.weights.h5", "deep/model"])
def test_weights_come_back(make: Any, name: str, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    model = make()
    wanted = model(X).numpy()
    model.save_weights(tmp_path / name)
    other = make()
    other(X)
    assert not np.allclose(other(X), wanted)
    status = other.load_weights(tmp_path / name)
    if status is not None:
        status.assert_consumed()
    np.testing.assert_array_equal(other(X), wanted)
    with pytest.raises(FileExistsError):
        model.save_weights(tmp_path / name, overwrite=False)


def test_a_checkpoint_waits_for_weights_that_are_not_made_yet(tmp_path: Path) -> None:
    model = Nested()
    wanted = model(X[:, 0]).numpy()
    model.save_weights(tmp_path / "model")
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model")
    other = Nested()
    other.load_weights(tmp_path / "model")
    np.testing.assert_array_equal(other(X[:, 0]), wanted)


def test_places_in_the_file_are_those_of_keras(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    model = Nested()
    model(X[:, 0])
    model.save_weights(tmp_path / "model.weights.h5")
    found: list[str] = []
    with h5py.File(tmp_path / "model.weights.h5") as file:
        file.visititems(lambda n, x: found.append(n) if isinstance(x, h5py.Dataset) else None)
    # Listed from a file that Keras 3.15 wrote for this model.
    assert sorted({name.rsplit("/", 1)[0] for name in found}) == [
        "anfang/vars",
        "blocks/batch_normalization/vars",
        "blocks/dense/vars",
        "choices/dense/vars",
        "layers/dense/vars",
        "layers/dense_4/vars",
        "vars",
    ]


def test_files_that_do_not_fit_change_nothing(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "model.weights.h5"
    model = keras.Sequential([keras.Input((3,)), layers.Dense(4), layers.Dense(2)])
    model.save_weights(path)
    other = keras.Sequential([keras.Input((3,)), layers.Dense(4), layers.Dense(3)])
    before = other.get_weights()
    with pytest.raises(ValueError, match=r"layers/dense_1.*must have shape \[4, 3\]"):
        other.load_weights(path)
    for one, wanted in zip(other.get_weights(), before, strict=True):
        np.testing.assert_array_equal(one, wanted)
    with pytest.warns(UserWarning, match="dense_1"):
        other.load_weights(path, skip_mismatch=True)
    np.testing.assert_array_equal(other.get_weights()[0], model.get_weights()[0])
    with h5py.File(path, "a") as file:
        del file["layers/dense/vars/0"]
        file["layers/dense/vars/0"] = h5py.ExternalLink("/etc/hostname", "/")
    with pytest.raises(ValueError, match="link"):
        model.load_weights(path)
    with pytest.raises(ValueError, match="built"):
        keras.Sequential([layers.Dense(2)]).load_weights(path)
    with pytest.raises(ValueError, match=r"\.weights\.h5"):
        model.save_weights(tmp_path / "model.h5")
