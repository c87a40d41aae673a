"""Folders, split weight files and parts of models are exchanged with Keras in both directions."""

from pathlib import Path

import numpy as np
import pytest

import pinnace as tf
from support.loaded_process import run_either

keras = tf.keras
X = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")

_THERE = """
import sys, numpy as np, keras
folder, shards, part, x, out = sys.argv[1:]
x = np.load(x)
model = keras.models.load_model(folder)
found = {"folder": model(x)}
again = keras.models.clone_model(model)
again.load_weights(shards)
found["shards"] = again(x)
middle = keras.models.load_model(part)
found["part"] = middle(np.ones((2, 5), "float32"))
np.savez(out + "/found.npz", **{key: np.asarray(value) for key, value in found.items()})
model.save(out + "/folder", zipped=False)
model.save_weights(out + "/w.weights.json", max_shard_size=64 / 2**30)
keras.Model(model.layers[0].output, model.output).save(out + "/part.keras")
"""


@pytest.fixture(scope="module")
def exchanged(tmp_path_factory: pytest.TempPathFactory, tensorflow_python: str):
    """The model, and the folder with Keras's results for its files."""
    here, there = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("there")
    begin = keras.Input((3,))
    middle = keras.layers.Dense(5, activation="relu")(begin)
    model = keras.Model(begin, keras.layers.Dense(2)(middle))
    model.save(here / "folder", zipped=False)
    model.save_weights(here / "w.weights.json", max_shard_size=64 / 2**30)
    keras.Model(middle, model.output).save(here / "part.keras")
    np.save(here / "x.npy", X)
    files = [here / "folder", here / "w.weights.json", here / "part.keras", here / "x.npy", there]
    run_either(_THERE, *files, python=tensorflow_python)
    return model, there


def test_keras_reads_what_is_written_here(exchanged: tuple[keras.Model, Path]) -> None:
    model, there = exchanged
    found = np.load(there / "found.npz")
    np.testing.assert_allclose(found["folder"], model(X), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["shards"], model(X), rtol=1e-5, atol=1e-6)
    kernel, bias = model.layers[-1].get_weights()
    np.testing.assert_allclose(found["part"], np.ones((2, 5)) @ kernel + bias, rtol=1e-5, atol=1e-6)


def test_what_keras_writes_is_read_here(exchanged: tuple[keras.Model, Path]) -> None:
    model, there = exchanged
    np.testing.assert_array_equal(keras.models.load_model(there / "folder")(X), model(X))
    other = keras.models.clone_model(model)
    other.load_weights(there / "w.weights.json")
    np.testing.assert_array_equal(other(X), model(X))
    # Keras' part starts after its input layer, which is the whole model.
    np.testing.assert_array_equal(keras.models.load_model(there / "part.keras")(X), model(X))
