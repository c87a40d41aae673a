"""TensorFlow loads what `pinnace.saved_model.save` writes, and computes the same numbers."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import pinnace as tf
from support.checked_models import failures

Arrays = dict[str, NDArray[np.float32]]
RNG = np.random.default_rng(7)


def dense_layers(folder: Path) -> Arrays:
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(2)]
    )
    x = RNG.standard_normal((5, 3)).astype(np.float32)
    model(tf.constant(x))
    tf.saved_model.save(model, str(folder))
    return serving_arrays(folder, x)


def module_with_a_variable(folder: Path) -> Arrays:
    class Scale(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = tf.Variable([1.0, 2.0, 3.0])

        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return x * self.factor

    module = Scale()
    tf.saved_model.save(module, str(folder), signatures=module.__call__)
    return serving_arrays(folder, RNG.standard_normal((2, 3)).astype(np.float32))


def grouped_convolutions(folder: Path) -> Arrays:
    """TensorFlow fuses a Conv2D with its BiasAdd, and lacks this kernel for groups on CPUs."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((6, 6, 4)),
            layers.Conv2D(8, 3, groups=4, bias_initializer="random_normal"),
            layers.Conv2D(8, 2, groups=2, activation="relu", bias_initializer="random_normal"),
        ]
    )
    model.export(folder)
    return serving_arrays(folder, RNG.standard_normal((2, 6, 6, 4)).astype(np.float32))


@pytest.mark.parametrize("build", [dense_layers, module_with_a_variable, grouped_convolutions])
def test_tensorflow_computes_the_same(
    build: Callable[[Path], Arrays], tmp_path: Path, tensorflow_python: str
) -> None:
    model, arrays = tmp_path / "model", tmp_path / "io.npz"
    np.savez(arrays, **build(model))
    paths = os.environ.get("PINNACE_TF_PATHS", "v2,v1")
    assert failures(model, arrays, paths, tensorflow_python) == {}


def serving_arrays(folder: Path, x: NDArray[np.float32]) -> Arrays:
    """Inputs and outputs of `serving_default`, under the names tf_check.py reads."""
    serve = tf.saved_model.load(str(folder)).signatures["serving_default"]
    ((name, _),) = serve.structured_input_signature[1].items()
    outputs = serve(**{name: tf.constant(x)})
    return {
        f"0/serving_default/in/{name}": x,
        **{f"0/serving_default/out/{key}": value.numpy() for key, value in outputs.items()},
    }
