"""Configurations of the first versions of Keras 2, and classes that replace others."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
X = np.float32([[1, 2, 3, 4], [-1, 0, 1, 2]])


def network() -> Any:
    inputs = keras.Input([4])
    return keras.Sequential([inputs, keras.layers.Dense(3, activation="relu", name="dense_1")])


def test_a_sequential_may_be_a_list_of_layers(tmp_path: Path) -> None:
    model = network()
    model.save(tmp_path / "m.h5")
    glorot = {"class_name": "GlorotUniform", "config": {"seed": None, "dtype": "float32"}}
    layer = {
        "name": "dense_1",
        "batch_input_shape": [None, 4],
        "dtype": "float32",
        "units": 3,
        "activation": "relu",
        "kernel_initializer": glorot,
        "bias_initializer": {"class_name": "Zeros", "config": {"dtype": "float32"}},
    }
    told = {"class_name": "Sequential", "config": [{"class_name": "Dense", "config": layer}]}
    with h5py.File(tmp_path / "m.h5", "r+") as file:
        file.attrs.pop("pinnace_crc32c", None)
        file.attrs["model_config"] = json.dumps(told).encode()
        file.attrs["keras_version"] = b"2.1.1"
    found = keras.models.load_model(tmp_path / "m.h5")
    np.testing.assert_array_equal(found(X), model(X))


class Halved(keras.layers.Dense):  # type: ignore[name-defined,misc]  # keras is an attribute
    """A replacement class for a layer of a file."""

    def call(self, inputs: Any) -> Any:
        return super().call(inputs) / 2.0


@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_another_class_has_the_weights_and_is_saved_again(ending: str, tmp_path: Path) -> None:
    model = network()
    model.save(tmp_path / f"m{ending}")
    found = keras.models.load_model(tmp_path / f"m{ending}", custom_objects={"Dense": Halved})
    np.testing.assert_array_equal(found(X), model(X) / 2.0)
    found.save(tmp_path / f"again{ending}")
    custom = {"Halved": Halved}
    again = keras.models.load_model(tmp_path / f"again{ending}", custom_objects=custom)
    np.testing.assert_array_equal(again(X), found(X))
