"""Contents of .weights.h5 files, and loading them, as programs that both run: see `both`.

python keras_weight_file_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers = keras.layers
FOLDER = Path(sys.argv[2])
X, Y = np.ones((4, 3), "float32"), np.ones((4, 2), "float32")


def compiled(optimizer: str = "adam") -> Any:
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2)])
    model.compile(optimizer, "mse", metrics=["mae"])
    return model


def trained() -> Any:
    model = compiled()
    for place, variable in enumerate(model.variables[:2]):
        variable.assign(np.arange(variable.numpy().size).reshape(variable.shape) / 8 + place)
    model.fit(X, Y, epochs=3, verbose=0)
    return model


def held(path: str) -> Any:
    found = []

    def visit(name: str, item: Any) -> None:
        if hasattr(item, "shape"):
            found.append([name, list(item.shape)])

    with h5py.File(path) as opened:
        opened.visititems(visit)
    return found


def restored(ending: str) -> Any:
    """Loaded with the state of the optimizer, if it has variables for it."""
    model = trained()
    path = str(FOLDER / f"trained{ending}")
    (model.save if ending == ".keras" else model.save_weights)(path)
    found = [] if ending == ".keras" else [held(path)]
    for optimizer, builds in (("adam", False), ("adam", True), ("sgd", True)):
        other = compiled(optimizer)
        if builds:
            other.optimizer.build(other.trainable_variables)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            other.load_weights(path)
        skips = [
            word.split("because it ")[1].split(".")[0]
            for word in (str(one.message) for one in told)
            if "Skipping variable loading" in word
        ]
        state = [variable.numpy().tolist() for variable in other.optimizer.variables]
        found.append([other(X).numpy().tolist(), state, skips])
    other = compiled()
    other.optimizer.build(other.trainable_variables)
    other.load_weights(path)
    other.fit(X, Y, epochs=1, verbose=0)
    model.fit(X, Y, epochs=1, verbose=0)
    return [found, np.abs(other(X).numpy() - model(X).numpy()).max() < 1e-6]


class Plain(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.dense = layers.Dense(2)

    def call(self, x: Any) -> Any:
        return self.dense(x)


class Renamed(keras.Model):
    """A model whose layer has another name, beside the original one."""

    def __init__(self) -> None:
        super().__init__()
        self.a_dense = layers.Dense(2)

    @property
    def dense(self) -> Any:
        return self.a_dense

    def call(self, x: Any) -> Any:
        return self.dense(x)


def renamed() -> Any:
    model, other = Plain(), Renamed()
    path = str(FOLDER / "plain.weights.h5")
    model(X)
    other(X)
    model.dense.kernel.assign(np.arange(6).reshape(3, 2) / 8)
    model.save_weights(path)
    other.load_weights(path)
    return other.a_dense.kernel.numpy().tolist()


PROGRAMS = {
    "renamed": renamed,
    "restored_weights": lambda: restored(".weights.h5"),
    "restored_model_file": lambda: restored(".keras"),
}


if __name__ == "__main__":
    report(PROGRAMS)
