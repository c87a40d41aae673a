"""Layers models that tensorflowjs 4.22.0 made from tf_keras 2.21 models, and their results.

Run with both importable: python make_layers.py FOLDER.
"""

import json
import sys
from pathlib import Path

import numpy as np
import tf_keras as keras
from tensorflowjs.converters import keras_h5_conversion as converter

L = keras.layers


def convolutions():
    return keras.Sequential(
        [
            L.Input([8, 8, 3], name="image"),
            L.Conv2D(4, 3, padding="same", activation="relu"),
            L.BatchNormalization(),
            L.DepthwiseConv2D(3),
            L.LeakyReLU(0.1),
            L.MaxPooling2D(),
            L.Flatten(),
            L.Dropout(0.5),
            L.Dense(3, activation="softmax"),
        ]
    )


def recurrent():
    ids = L.Input([6], name="ids")
    x = L.Embedding(10, 4)(ids)
    x = L.Bidirectional(L.LSTM(3, return_sequences=True), merge_mode="sum")(x)
    x = L.GRU(5, reset_after=False, recurrent_activation="hard_sigmoid")(x)
    other = L.Input([5], name="other")
    inner = keras.Sequential([L.Input([5]), L.Dense(5, activation="tanh", name="inside")])
    return keras.Model([ids, other], L.Add()([x, inner(other)]))


def write(name, model, feeds):
    rng = np.random.default_rng(5)
    for weight in model.weights:
        low = 0.5 if "variance" in weight.name else -0.5
        weight.assign(rng.uniform(low, 1.0, weight.shape).astype(np.float32))
    target = Path(sys.argv[1]) / name
    converter.save_keras_model(model, str(target))
    answers = model.predict(list(feeds.values()), verbose=0)
    told = {
        "inputs": {key: value.tolist() for key, value in feeds.items()},
        "outputs": answers.tolist(),
    }
    (target / "answers.txt").write_text(json.dumps(told))


if __name__ == "__main__":
    rng = np.random.default_rng(6)
    image = rng.standard_normal([2, 8, 8, 3]).astype(np.float32)
    write("layers_convolutions", convolutions(), {"image": image})
    ids = rng.integers(0, 10, [3, 6]).astype(np.float32)
    other = rng.standard_normal([3, 5]).astype(np.float32)
    write("layers_recurrent", recurrent(), {"ids": ids, "other": other})
