"""The two models that every server gets: one small, one whose products take the time."""

import json
from pathlib import Path

import numpy as np

import pinnace as tf
from pinnace.deploy.onnx import export

SIZES = {"a": (784, 128, 10), "b": (784, 2048, 2048, 10)}


def write(name: str, folder: Path) -> None:
    """`folder/NAME/1` as SavedModel, `folder/NAME.onnx`, and what they answer to `rows`."""
    if (folder / f"{name}.json").exists():
        return
    tf.random.set_seed(7)
    sizes = SIZES[name]
    layers = [tf.keras.layers.Dense(size, activation="relu") for size in sizes[1:-1]]
    model = tf.keras.Sequential([*layers, tf.keras.layers.Dense(sizes[-1], activation="softmax")])
    model.build((None, sizes[0]))
    tf.saved_model.save(model, str(folder / name / "1"))
    export(str(folder / name / "1"), str(folder / f"{name}.onnx"))
    # The answer by the formula in float64: no server's own.
    x = rows(32).astype(np.float64)
    weights = [w.numpy().astype(np.float64) for w in model.weights]
    for i in range(0, len(weights) - 2, 2):
        x = np.maximum(x @ weights[i] + weights[i + 1], 0)
    x = x @ weights[-2] + weights[-1]
    x = np.exp(x - x.max(1, keepdims=True))
    (folder / f"{name}.json").write_text(json.dumps((x / x.sum(1, keepdims=True)).tolist()))


def rows(count: int) -> np.ndarray:
    """[count, 784] of float32 in [0, 1); the first rows are the same for each count."""
    return np.random.default_rng(0).random((count, 784), dtype=np.float32)
