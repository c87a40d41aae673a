"""SavedModels as Keras 2 writes them, with its predictions, also after a training step.

Run by a Python that has TensorFlow, with tf_keras on the path, from the root of the repository:

    PYTHONPATH=tests:.cache/venvs/keras2-… python tests/golden/keras_folders/make.py
"""

import os
import shutil

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras

from support.golden import record

FOLDER = Path(__file__).parent
L = tf_keras.layers


def sequential() -> tuple[Any, Any, Any]:
    """A compiled model with some non-trainable weights."""
    model = tf_keras.Sequential(
        [
            tf_keras.Input((4,), name="x"),
            L.Dense(3, activation="relu", name="first"),
            L.BatchNormalization(name="normal"),
            L.Dense(2, name="last", trainable=False),
        ]
    )
    model.compile(tf_keras.optimizers.legacy.SGD(0.1), "mse", metrics=["mae"])
    return model, numbers(5, 4), numbers(5, 2)


def functional(recurrent: bool = False) -> tuple[Any, Any, Any]:
    """Integer inputs, a nested model, a shared layer, an operation, wrapped layers."""
    words = tf_keras.Input((6,), dtype="int64", name="words")
    inner = tf_keras.Sequential([L.Dense(3, name="within")], name="inner")
    twice = L.Dense(3, activation="tanh", name="twice")
    x = L.Embedding(9, 3, mask_zero=True, name="meanings")(words)
    if recurrent:  # its traces take megabytes
        x = L.Bidirectional(L.LSTM(2), name="both")(x)
    else:
        x = L.GlobalAveragePooling1D(name="mean")(x)
    x = twice(inner(x))
    x = twice(x) + 1.0
    model = tf_keras.Model(words, L.Dense(1, "sigmoid", name="score")(x))
    model.compile(tf_keras.optimizers.SGD(0.1), "binary_crossentropy")
    y = np.array([[0], [1], [1]], np.float32)
    return model, np.random.default_rng(5).integers(0, 9, (3, 6)).astype(np.int32), y


def without_traces() -> tuple[Any, Any, Any]:
    """A model saved without its functions: only its layers can be restored."""
    return functional(recurrent=True)


def adapted() -> tuple[Any, Any, Any]:
    """State from `adapt`: a vocabulary, which is in a table, mean and variance."""
    x = np.array([[5, 3], [3, 8], [8, 5], [5, 5]], np.int64)
    lookup = L.IntegerLookup(output_mode="multi_hot", name="known")
    lookup.adapt(x)
    normal = L.Normalization(name="normal")
    normal.adapt(x.astype(np.float32))
    given = tf_keras.Input((2,), dtype="int64", name="given")
    both = L.Concatenate(name="joined")([lookup(given), normal(tf.cast(given, "float32"))])
    model = tf_keras.Model(given, L.Dense(1, name="last")(both))
    model.compile(tf_keras.optimizers.SGD(0.1), "mse")
    return model, x, numbers(4, 1)


def numbers(*shape: int) -> np.ndarray:
    """Random numbers, the same for each model."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def main() -> None:
    """Write the folders."""
    for make in (sequential, functional, without_traces, adapted):
        name, traces = make.__name__, make is not without_traces
        tf_keras.utils.set_random_seed(3)
        folder = FOLDER / name
        shutil.rmtree(folder, ignore_errors=True)
        model, x, y = make()
        model.fit(x, y, verbose=0)  # saved models have been trained, as in practice
        model.save(folder / "model", save_format="tf", save_traces=traces)
        again = tf_keras.models.load_model(folder / "model")
        output, loss = again.predict(x, verbose=0), np.ravel(again.evaluate(x, y, verbose=0))[:1]
        again.fit(x, y, epochs=2, batch_size=len(x), shuffle=False, verbose=0)
        trained = again.predict(x, verbose=0)
        np.savez(folder / "io.npz", x=x, y=y, output=output, loss=loss, trained=trained)
        record(
            f"keras_folders/{name}",
            script="keras_folders/make.py",
            made_with=f"tensorflow {tf.__version__}, tf_keras {tf_keras.__version__}",
        )


if __name__ == "__main__":
    main()
