"""Models as Keras 2.13 and 2.14 write them: weights have other paths than in 2.15.

Run by a Python that has TensorFlow, with keras 2.13.1 or 2.14.0 (installed without its
dependencies) before it on the path, from the root of the repository:

    export TF_USE_LEGACY_KERAS=1 PYTHONPATH=tests:FOLDER_OF_KERAS:FOLDER_OF_TF_KERAS
    python tests/golden/keras_files/make_keras_2_13.py
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

# Names that later TensorFlow versions lack, and only SavedModels of Keras use.
tf.compat.v2.__internal__.register_load_context_function = lambda _: None

import keras  # noqa: E402 (the line above is for it)

from support.golden import record  # noqa: E402 (as above)

L = keras.layers
FOLDER = Path(__file__).parent / ("keras_" + "_".join(keras.__version__.split(".")[:2]))


def sequence(shape: tuple[int, ...], *layers: Any) -> Any:
    return keras.Sequential([keras.Input(shape), *layers])


def nested() -> Any:
    inner = sequence((4,), L.Dense(5, activation="relu"), L.Dense(5))
    given = keras.Input((4,))
    other = keras.Model(given, L.Dense(5)(L.Dense(3)(given)))
    x = keras.Input((4,))
    return keras.Model(x, L.Dense(2)(L.Add()([inner(x), other(x)])))


MODELS = {
    "dense": lambda: sequence((4,), L.Dense(5, activation="relu"), L.Dropout(0.1), L.Dense(2)),
    "nested": nested,
    "normal": lambda: sequence((4,), L.BatchNormalization(), L.Dense(3), L.LayerNormalization()),
    "recurrent": lambda: sequence(
        (7, 4), L.LSTM(3, return_sequences=True), L.Bidirectional(L.GRU(2)), L.Dense(1)
    ),
    "pictures": lambda: sequence(
        (6, 6, 2), L.Conv2D(3, 2), L.Conv2D(3, 2), L.Flatten(), L.Dense(2)
    ),
}


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, make in MODELS.items():
        keras.utils.set_random_seed(3)
        model = make()
        x = np.random.default_rng(0).normal(size=(3, *model.inputs[0].shape[1:])).astype("float32")
        model.compile("adam", "mse")
        target = np.ones_like(model(x))
        model.train_on_batch(x, target)
        model.save(FOLDER / f"{name}.keras")
        model.save(FOLDER / f"{name}.h5")
        y = np.asarray(model(x))
        loss = model.train_on_batch(x, target)
        np.savez_compressed(FOLDER / f"{name}.npz", x=x, y=y, loss=loss)
    record(
        f"keras_files/{FOLDER.name}",
        script="keras_files/make_keras_2_13.py",
        made_with=f"tensorflow {tf.__version__}, keras {keras.__version__}",
    )


if __name__ == "__main__":
    main()
