"""Training runs as Keras makes them: initial weights, losses and weights step by step.

Run by a Python that has TensorFlow, from the root of the repository:

    PYTHONPATH=tests python tests/golden/keras/make.py
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from support.golden import record

FOLDER = Path(__file__).parent
STEPS = 5


def mlp() -> keras.Model:
    """Dense layers with every kind of weight option."""
    return keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Dense(8, "relu", kernel_regularizer=keras.regularizers.L2(0.01)),
            keras.layers.Dense(5, "tanh", kernel_initializer="he_normal"),
            keras.layers.Dense(3, "softmax"),
        ]
    )


def cnn() -> keras.Model:
    """Convolution, normalisation, pooling, dropout."""
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(4, 3, padding="same", use_bias=False),
            keras.layers.BatchNormalization(),
            keras.layers.Activation("relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(6, 3, strides=2, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dropout(0.25),
            keras.layers.Dense(3),
        ]
    )


OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.1),
    "momentum": lambda: keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
    "adam": lambda: keras.optimizers.Adam(0.01),
    "amsgrad": lambda: keras.optimizers.Adam(0.01, amsgrad=True, clipnorm=0.5),
    "adamw": lambda: keras.optimizers.AdamW(0.01),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.01, momentum=0.5, centered=True),
    "adagrad": lambda: keras.optimizers.Adagrad(0.1, global_clipnorm=1.0),
    "adadelta": lambda: keras.optimizers.Adadelta(1.0),
    "adamax": lambda: keras.optimizers.Adamax(0.01, clipvalue=0.1),
    "nadam": lambda: keras.optimizers.Nadam(0.01),
    "lion": lambda: keras.optimizers.Lion(0.01, weight_decay=0.1),
}


def run(
    model: keras.Model, optimizer: keras.Optimizer, loss: object, shape: tuple[int, ...]
) -> dict[str, np.ndarray]:
    """Five steps on random data."""
    generator = np.random.default_rng(7)
    x = generator.standard_normal((STEPS, 16, *shape)).astype(np.float32)
    y = generator.integers(0, 3, (STEPS, 16)).astype(np.int64)
    found = {"x": x, "y": y}
    for i, value in enumerate(model.get_weights()):
        found[f"initial_{i}"] = value
    model.compile(optimizer, loss, metrics=["accuracy"])
    losses = []
    for step in range(STEPS):
        logs = model.train_on_batch(x[step], y[step], return_dict=True)
        model.reset_metrics()
        losses.append([logs["loss"], logs["accuracy"]])
    found["losses"] = np.array(losses, np.float64)
    for i, value in enumerate(model.get_weights()):
        found[f"final_{i}"] = value
    found["predicted"] = model.predict(x[0], verbose=0)
    return found


def main() -> None:
    """Write the file."""
    arrays = {}
    for name, make in OPTIMIZERS.items():
        keras.utils.set_random_seed(11)
        found = run(mlp(), make(), "sparse_categorical_crossentropy", (6,))
        arrays.update({f"mlp/{name}/{key}": value for key, value in found.items()})
    for name in ("sgd", "adam"):
        keras.utils.set_random_seed(11)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        found = run(cnn(), OPTIMIZERS[name](), loss, (8, 8, 1))
        arrays.update({f"cnn/{name}/{key}": value for key, value in found.items()})
    np.savez_compressed(FOLDER / "training.npz", **arrays)
    record(
        "keras/training.npz",
        script="keras/make.py",
        made_with=f"tensorflow {tf.__version__}, keras {keras.__version__}",
    )


if __name__ == "__main__":
    main()
