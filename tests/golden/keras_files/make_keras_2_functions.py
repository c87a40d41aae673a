"""Functional models of Keras 2 that call TensorFlow's functions between layers; see make.py.

Each line of keras_2_functions.txt is a model, stored as the result of `to_json`, with its outputs;
some of them together are the .keras and .h5 files.
Run like make_keras_2.py, with TF_USE_LEGACY_KERAS=1.
"""

import contextlib
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import re
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras as keras

from support.golden import record

FOLDER = Path(__file__).parent / "keras_2_functions"
LINES = (Path(__file__).parent / "keras_2_functions.txt").read_text().splitlines()
FUNCTIONS = [line for line in LINES if line and not line.startswith("#")]
EACH = 12  # the files contain every twelfth of the models


def inputs_by_name() -> dict[str, Any]:
    rng = np.random.default_rng(7)

    def normal(*shape: int) -> Any:
        return rng.normal(size=shape).astype("float32")

    half = normal(3, 3, 3)
    texts = ["a red fox", "Blue", "3.5", "x,y", "été", "", " 12 ", "dog dog"]
    words = [text.encode() for text in texts]
    return {
        "x": normal(3, 4),
        "y": normal(3, 4),
        "p": rng.uniform(0.1, 0.9, (3, 4)).astype("float32"),
        "m": normal(3, 3, 4),
        "n": normal(3, 4, 2),
        "q": (half @ half.transpose(0, 2, 1) + np.eye(3)).astype("float32"),
        "i": rng.integers(0, 4, (3, 4)).astype("int32"),
        "j": rng.integers(1, 4, (3, 4)).astype("int32"),
        "l": np.array([[0, 1], [1, 2], [2, 0]], "int64"),
        "s": np.array(rng.choice(words, (3, 4)), object),
        "b": rng.integers(0, 2, (3, 4)).astype(bool),
        "pic": rng.uniform(0, 1, (3, 6, 6, 3)).astype("float32"),
        "dark": rng.uniform(0, 1, (3, 6, 6, 1)).astype("float32"),
        "vol": normal(3, 4, 4, 4, 2),
        "t": normal(3, 16),
        "boxes": np.sort(rng.uniform(0, 1, (3, 5, 2, 2)), axis=2)
        .reshape(3, 5, 4)
        .astype("float32"),
    }


VALUES = inputs_by_name()


def inputs_of(expression: str) -> list[str]:
    outside = re.sub(r"'[^']*'", "''", expression)
    return [name for name in VALUES if re.search(rf"(?<![\w.]){name}\b(?!=)", outside)]


def flat(outputs: Any) -> list[Any]:
    """Dense components of a model's outputs."""
    found = []
    for one in tf.nest.flatten(outputs, expand_composites=True):
        value = one.numpy()
        found.append(value.astype("S") if value.dtype == object else value)
    return found


def made(expressions: list[str]) -> tuple[Any, list[str]]:
    names = [name for name in VALUES if any(name in inputs_of(one) for one in expressions)]
    given = {
        name: keras.Input(
            VALUES[name].shape[1:],
            dtype=VALUES[name].dtype.name.replace("object", "string"),
            name=name,
        )
        for name in names
    }
    outputs = [eval(one, {"tf": tf, "keras": keras, "np": np, **given}) for one in expressions]
    return keras.Model([*given.values()], outputs[0] if len(outputs) == 1 else outputs), names


def called(model: Any, names: list[str]) -> list[Any]:
    xs = [
        tf.constant(VALUES[name].tolist() if VALUES[name].dtype == object else VALUES[name])
        for name in names
    ]
    return flat(model(xs if len(xs) > 1 else xs[0]))


def check(model: Any, names: list[str], answers: list[Any], what: str) -> None:
    """Check that Keras 2 itself reads what it wrote."""
    for ours, theirs in zip(called(model, names), answers, strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=what)


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    arrays: dict[str, Any] = {
        f"input/{name}": value.astype("S") if value.dtype == object else value
        for name, value in VALUES.items()
    }
    kept: list[str] = []
    archived: list[str] = []  # those that a .keras file can hold
    for expression in FUNCTIONS:
        keras.backend.clear_session()
        model, names = made([expression])
        answers = called(model, names)
        text = model.to_json()
        check(keras.models.model_from_json(text), names, answers, expression)
        kept.append(expression)
        with contextlib.suppress(TypeError):
            keras.saving.serialize_keras_object(model)
            archived.append(expression)
        arrays[f"{expression}/config"] = text
        for at, answer in enumerate(answers):
            arrays[f"{expression}/{at}"] = answer
    for old in FOLDER.iterdir():
        old.unlink()
    for ending, expressions in ((".keras", archived), (".h5", kept)):
        keras.backend.clear_session()
        some = expressions[::EACH]
        model, names = made(some)
        answers = called(model, names)
        file = FOLDER / f"some{ending}"
        model.save(file)
        check(keras.models.load_model(file), names, answers, str(file))
        arrays[f"{file.name}/expressions"] = np.array(some)
    np.savez_compressed(FOLDER / "answers.npz", **arrays)
    record(
        "keras_files/keras_2_functions",
        script="keras_files/make_keras_2_functions.py",
        made_with=f"tensorflow {tf.__version__}, tf-keras {keras.__version__}",
    )


if __name__ == "__main__":
    main()
