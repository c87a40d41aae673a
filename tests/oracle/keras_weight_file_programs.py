"""What .weights.h5 files hold, restore and are edited to, as programs that both run: see `both`.

python keras_weight_file_programs.py tensorflow|pinnace FOLDER
"""

import contextlib
import importlib
import io
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers = keras.layers
# TensorFlow's `tf.keras` does not have it.
NAMES = {"tensorflow": "keras.saving", "pinnace": "pinnace.keras.saving"}
saving: Any = importlib.import_module(NAMES[sys.argv[1]])
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
    """With the state of the optimizer, if that has the variables for it."""
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


def status(editor: Any, model: Any) -> Any:
    """Keras counts the matches of inner groups more than once."""
    found = quiet(editor.compare, model)
    return [found["status"], bool(found["error_count"]), bool(found["match_count"])]


def network(*sizes: int) -> Any:
    x = inputs = keras.Input((2,))
    for place, size in enumerate(sizes):
        x = layers.Dense(size, name=f"layer_{place}")(x)
    return keras.Model(inputs, x)


def quiet(call: Any, *args: Any) -> Any:
    with contextlib.redirect_stdout(io.StringIO()):
        return call(*args)


def refused(call: Any, *args: Any) -> Any:
    try:
        quiet(call, *args)
    except ValueError as error:
        said = str(error)
        words = ("not found", "more than once", "does not appear", "should be a dict", "leaf name")
        return [word in said for word in (*words, "extension")]
    return "taken"


def edited() -> Any:
    """A file of a network with two layers becomes that of one with three."""
    path, there = str(FOLDER / "two.keras"), str(FOLDER / "three.weights.h5")
    network(3, 3).save(path)
    target = network(3, 3, 3)
    editor = quiet(saving.KerasFileEditor, path)
    found = [status(editor, network(3, 3)), editor.config["class_name"]]
    kernel, bias = np.ones((3, 3), "float32"), np.zeros(3, "float32")
    editor.add_object("layers/dense_9", weights={"0": kernel})
    editor.rename_object("dense_9", "dense_7")
    editor.rename_object("layers/dense_7", "dense_2")
    found.append(status(editor, target))
    editor.add_weights("dense_2", weights={"1": bias})
    found.append(status(editor, target))
    editor.save(there)
    target.load_weights(there)
    found.append([x.tolist() for x in target.layers[-1].get_weights()])
    editor.delete_weight("dense_2", "1")
    found.append(status(editor, target))
    editor.add_weights("dense_2", {"1": np.zeros(7)})
    found.append(status(editor, target))
    editor.delete_object("layers/dense_2")
    again = quiet(saving.KerasFileEditor, there)
    quiet(again.summary)
    shapes = {
        name: {key: list(value.shape) for key, value in values.items()}
        for name, values in again.weights_dict["layers"].items()
    }
    return [
        *found,
        sorted(editor.weights_dict["layers"]),
        shapes,
        refused(editor.delete_object, "nowhere"),
        refused(editor.delete_object, "layers/nowhere"),
        refused(editor.delete_object, "0"),
        refused(editor.rename_object, "dense", "layers/other"),
        refused(editor.add_object, "nowhere/dense", {}),
        refused(editor.add_object, "layers/dense_5", [kernel]),
        refused(editor.add_weights, "dense", [kernel]),
        refused(editor.delete_weight, "dense", "5"),
        refused(editor.save, str(FOLDER / "three.h5")),
        refused(saving.KerasFileEditor, str(FOLDER / "three.npz")),
    ]


class Plain(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.dense = layers.Dense(2)

    def call(self, x: Any) -> Any:
        return self.dense(x)


class Renamed(keras.Model):
    """Whose layer has another name, and the first one, too."""

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
    "edited": edited,
}


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    done: dict[str, Any] = {}
    for name, program in PROGRAMS.items():
        try:
            done[name] = program()
        except Exception as error:
            done[name] = f"error: {type(error).__name__}: {error}"
    sys.stdout.write("\n" + json.dumps(done, default=bool))
