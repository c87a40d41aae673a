"""The same program gives Keras's results: initial weights, losses, weights after five steps."""

from typing import Any

import numpy as np
import pytest

from pinnace import keras
from pinnace.keras import layers, optimizers
from support.golden import golden

OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda: optimizers.SGD(0.1),
    "momentum": lambda: optimizers.SGD(0.05, momentum=0.9, nesterov=True),
    "adam": lambda: optimizers.Adam(0.01),
    "amsgrad": lambda: optimizers.Adam(0.01, amsgrad=True, clipnorm=0.5),
    "adamw": lambda: optimizers.AdamW(0.01),
    "rmsprop": lambda: optimizers.RMSprop(0.01, momentum=0.5, centered=True),
    "adagrad": lambda: optimizers.Adagrad(0.1, global_clipnorm=1.0),
    "adadelta": lambda: optimizers.Adadelta(1.0),
    "adamax": lambda: optimizers.Adamax(0.01, clipvalue=0.1),
    "nadam": lambda: optimizers.Nadam(0.01),
    "lion": lambda: optimizers.Lion(0.01, weight_decay=0.1),
}


def mlp() -> Any:
    return keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(8, "relu", kernel_regularizer=keras.regularizers.L2(0.01)),
            layers.Dense(5, "tanh", kernel_initializer="he_normal"),
            layers.Dense(3, "softmax"),
        ]
    )


def cnn() -> Any:
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.Activation("relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(6, 3, strides=2, activation="relu"),
            layers.Flatten(),
            layers.Dropout(0.25),
            layers.Dense(3),
        ]
    )


@pytest.mark.parametrize(
    ("kind", "name"), [*(("mlp", name) for name in OPTIMIZERS), ("cnn", "sgd"), ("cnn", "adam")]
)
def test_training_is_that_of_keras(kind: str, name: str) -> None:
    with np.load(golden("keras/training.npz"), allow_pickle=False) as file:
        prefix = f"{kind}/{name}/"
        recorded = {key.removeprefix(prefix): file[key] for key in file if key.startswith(prefix)}
    keras.utils.set_random_seed(11)
    model = mlp() if kind == "mlp" else cnn()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=kind == "cnn")
    # Initializers draw from the same Philox streams; so does dropout below. 2 ulps: the logarithm
    # in a normal distribution.
    for i, weight in enumerate(model.get_weights()):
        np.testing.assert_array_max_ulp(weight, recorded[f"initial_{i}"], 2)
    model.compile(OPTIMIZERS[name](), loss, metrics=["accuracy"])
    found = []
    for x, y in zip(recorded["x"], recorded["y"], strict=True):
        logs = model.train_on_batch(x, y, return_dict=True)
        model.reset_metrics()
        found.append([logs["loss"], logs["accuracy"]])
    np.testing.assert_allclose(found, recorded["losses"], rtol=1e-5, atol=1e-6)
    for i, weight in enumerate(model.get_weights()):
        np.testing.assert_allclose(weight, recorded[f"final_{i}"], rtol=1e-5, atol=1e-5)
    predicted = model.predict(recorded["x"][0], verbose=0)
    np.testing.assert_allclose(predicted, recorded["predicted"], rtol=1e-4, atol=1e-5)
