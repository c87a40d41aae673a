"""Weights of models as Keras 2 writes them without an extension: TensorFlow's checkpoints.

Run it like keras_files/make_keras_2.py. NAME.json is the model, NAME.npz has inputs and outputs,
and the outputs after one more step of training; NAME-OPTIMIZER is a checkpoint.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras as keras

from support.golden import record

FOLDER = Path(__file__).parent / "keras_2"
L = keras.layers
RNG = np.random.default_rng(0)


def sequence(shape: tuple[int, ...], *layers: Any) -> Any:
    return keras.Sequential([keras.Input(shape), *layers])


def nested() -> Any:
    # Not after a bias, whose gradient would be 0 and whose Adam step would be noise.
    inner = sequence((4,), L.BatchNormalization(), L.Dropout(0.0), L.Dense(5, activation="relu"))
    given = keras.Input((4,))
    other = keras.Model(given, L.Dense(5)(L.Dense(3)(given)))
    x = keras.Input((4,))
    return keras.Model(x, L.Dense(2)(L.Add()([inner(x), other(x)])))


def shared() -> Any:
    a, b = keras.Input((4,)), keras.Input((4,))
    both = L.Dense(3)
    return keras.Model([a, b], L.Dense(2)(L.Concatenate()([both(a), both(b), L.Dense(3)(b)])))


def functions() -> Any:
    x = keras.Input((4,))
    h = tf.nn.relu(L.Dense(4)(x) * 2.0)
    return keras.Model(x, L.Dense(3)(h + L.Dense(4)(x)))


def attention() -> Any:
    x = keras.Input((7, 4))
    return keras.Model(x, L.LayerNormalization()(L.MultiHeadAttention(2, 3)(x, x)))


def adapted() -> Any:
    layer = L.Normalization()
    layer.adapt(RNG.normal(size=(30, 4)))
    return sequence((4,), layer, L.Dense(2))


MODELS = {
    "nested": nested,
    "shared": shared,
    "functions": functions,
    "attention": attention,
    "adapted": adapted,
    "recurrent": lambda: sequence(
        (7, 4),
        L.LSTM(3, return_sequences=True),
        L.Bidirectional(L.GRU(2, return_sequences=True)),
        L.RNN([L.LSTMCell(3), L.SimpleRNNCell(2)], return_sequences=True),
        L.TimeDistributed(L.Dense(1)),
    ),
    "pictures": lambda: sequence(
        (6, 6, 2),
        L.BatchNormalization(),
        L.Conv2D(3, 2),
        L.PReLU(),
        L.SeparableConv2D(3, 2),
        L.DepthwiseConv2D(2),
        L.Flatten(),
        L.Dense(2),
    ),
}
OPTIMIZERS = {
    "none": lambda: None,
    "adam": lambda: keras.optimizers.Adam(0.01),
    "sgd": lambda: keras.optimizers.SGD(0.01),
    "legacy": lambda: keras.optimizers.legacy.Adam(0.01),
}


def main() -> None:
    """Write the files."""
    for name, make in MODELS.items():
        arrays = {}
        for kind, optimizer in OPTIMIZERS.items():
            keras.utils.set_random_seed(3)
            model = make()
            (FOLDER / f"{name}.json").write_text(model.to_json())
            xs = [RNG.normal(size=(3, *one.shape[1:])).astype("float32") for one in model.inputs]
            x = xs if len(xs) > 1 else xs[0]
            target = np.ones_like(model(x))
            chosen = optimizer()
            if chosen is not None:
                model.compile(chosen, "mse")
                for _ in range(2):
                    model.train_on_batch(x, target)
            model.save_weights(FOLDER / f"{name}-{kind}")
            arrays.update({f"{kind}_x{i}": one for i, one in enumerate(xs)})
            arrays[f"{kind}_y"] = np.asarray(model(x))
            if chosen is not None:
                model.train_on_batch(x, target)
                arrays[f"{kind}_trained"] = np.asarray(model(x))
        np.savez_compressed(FOLDER / f"{name}.npz", **arrays)
    (FOLDER / "checkpoint").unlink(missing_ok=True)
    record(
        "keras_checkpoints/keras_2",
        script="keras_checkpoints/make.py",
        made_with=f"tensorflow {tf.__version__}, tf-keras {keras.__version__}",
    )


if __name__ == "__main__":
    main()
