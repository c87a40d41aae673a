"""Models with several outputs, by name and by position: programs that both run, see `both`.

python keras_output_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import json
import os
import sys
import warnings
from typing import Any

import numpy as np
from reporting import plain

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers = keras.layers


def numbers(*shape: int, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).integers(-8, 9, shape) / 8).astype("float32")


X, Y1, Y2 = numbers(12, 3, seed=1), numbers(12, 1, seed=2), numbers(12, 2, seed=3)
KINDS = np.random.default_rng(4).integers(0, 2, (12,))
W1, W2 = abs(numbers(12, seed=5)), abs(numbers(12, seed=6)) + 0.5


def made(kind: str) -> Any:
    """A model with outputs from the layers `score` and `kind`."""
    x = keras.Input((3,), name="x")
    hidden = layers.Dense(4, activation="tanh", name="hidden")(x)
    score = layers.Dense(1, name="score")(hidden)
    kinds = layers.Dense(2, activation="softmax", name="kind")(hidden)
    outputs: Any = {
        "list": lambda: [score, kinds],
        "tuple": lambda: (score, kinds),
        "dict": lambda: {"score": score, "kind": kinds},
        # Sorted keys have another order, and the dict's keys are not the layers' names.
        "other": lambda: {"second": score, "first": kinds},
        "one": lambda: {"only": score},
        "single": lambda: score,
    }[kind]()
    model = keras.Model(x, outputs, name="several")
    weights = model.get_weights()
    model.set_weights([numbers(*w.shape, seed=9 + i) for i, w in enumerate(weights)])
    return model


def trained(kind: str, y: Any, sample_weight: Any = None, y_test: Any = None, **given: Any) -> Any:
    """Histories, evaluations in both forms, predictions, names."""
    model = made(kind)
    model.compile(keras.optimizers.SGD(0.125), **given)
    history = model.fit(
        X, y, sample_weight=sample_weight, epochs=2, batch_size=4, shuffle=False, verbose=0,
        validation_data=(X, y if y_test is None else y_test),
    ).history  # fmt: skip
    told = model.evaluate(X, y, sample_weight=sample_weight, batch_size=5, verbose=0)
    named = model.evaluate(X, y, batch_size=4, verbose=0, return_dict=True)
    step = model.train_on_batch(X[:4], tf.nest.map_structure(lambda a: a[:4], y), return_dict=True)
    return [
        {key: history[key] for key in sorted(history)}, told, named, step,
        model.predict(X[:3], verbose=0), model.metrics_names, model.output_names,
    ]  # fmt: skip


def from_dataset(kind: str, y: Any, **given: Any) -> Any:
    model = made(kind)
    model.compile(keras.optimizers.SGD(0.125), **given)
    data = tf.data.Dataset.from_tensor_slices((X, y)).batch(4)
    history = model.fit(data, epochs=2, verbose=0).history
    return [history, model.evaluate(data, verbose=0, return_dict=True)]


def refused(kind: str, y: Any, **given: Any) -> str:
    """The class of the error of compile and fit together."""
    try:
        trained(kind, y, **given)
    except Exception as error:
        return type(error).__name__
    return "nothing"


def outcome(name: str) -> Any:
    keras.utils.set_random_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(PROGRAMS[name]())
        except Exception as error:  # makes the test fail
            return f"error: {type(error).__name__}: {error}"[:500]


SPARSE = "sparse_categorical_crossentropy"
LOSSES = {"score": "mse", "kind": SPARSE}
PROGRAMS = {
    "list_list": lambda: trained("list", [Y1, KINDS], loss=["mse", SPARSE]),
    "list_by_layers": lambda: trained(
        "list", {"score": Y1, "kind": KINDS}, loss=LOSSES, metrics={"kind": ["accuracy"]}
    ),
    "list_by_layers_weights": lambda: trained(
        "list",
        {"score": Y1, "kind": KINDS},
        loss=LOSSES,
        loss_weights={"score": 0.5, "kind": 2.0},
        metrics={"score": ["mae", "mse"], "kind": "accuracy"},
    ),
    "tuple_list": lambda: trained("tuple", (Y1, KINDS), loss=["mse", SPARSE], metrics=["mae", []]),
    "one_loss_for_all": lambda: trained("list", [Y1, Y2], loss="mse"),
    "one_loss_for_a_dict": lambda: trained("dict", {"score": Y1, "kind": Y2}, loss="mse"),
    "losses_in_another_order": lambda: trained(
        "dict", {"score": Y1, "kind": Y2}, loss={"kind": "mae", "score": "mse"}
    ),
    "dict": lambda: trained("dict", {"score": Y1, "kind": KINDS}, loss=LOSSES),
    "dict_metrics": lambda: trained(
        "dict",
        {"score": Y1, "kind": KINDS},
        loss=LOSSES,
        metrics={"kind": ["accuracy"], "score": "mae"},
        loss_weights={"score": 0.25, "kind": 1.0},
    ),
    "dict_weighted_metrics": lambda: trained(
        "dict",
        {"score": Y1, "kind": KINDS},
        {"score": W1, "kind": W2},
        loss=LOSSES,
        weighted_metrics={"kind": ["accuracy"], "score": ["mae"]},
    ),
    "weighted_and_not": lambda: trained(
        "single",
        Y1,
        W1,
        loss="mse",
        metrics=["mae", "mse"],
        weighted_metrics=["mae", "mape", "mse"],
    ),
    "weighted_and_not_of_several": lambda: trained(
        "list",
        [Y1, KINDS],
        [W1, W2],
        loss=["mse", SPARSE],
        metrics=[["mae"], ["accuracy"]],
        weighted_metrics=[["mae", "mse"], ["accuracy"]],
    ),
    "list_sample_weights": lambda: trained(
        "list", [Y1, KINDS], [W1, W2], loss=["mse", SPARSE], weighted_metrics=[["mae"], []]
    ),
    "dict_other_names": lambda: trained(
        "other",
        {"second": Y1, "first": KINDS},
        loss={"second": "mse", "first": SPARSE},
        metrics={"first": ["accuracy"], "second": ["mae"]},
    ),
    "dict_some_loss": lambda: trained("dict", {"score": Y1, "kind": KINDS}, loss={"score": "mse"}),
    "list_some_loss": lambda: trained("list", [Y1, KINDS], loss=["mse", None]),
    "dict_of_one": lambda: trained("one", {"only": Y1}, loss={"only": "mse"}, metrics=["mae"]),
    "single_by_layer": lambda: trained(
        "single", Y1, loss={"score": "mse"}, metrics={"score": ["mae"]}
    ),
    "dataset_by_layers": lambda: from_dataset("list", {"score": Y1, "kind": KINDS}, loss=LOSSES),
    "dataset_dict": lambda: from_dataset(
        "dict", {"score": Y1, "kind": KINDS}, loss=LOSSES, metrics={"kind": ["accuracy"]}
    ),
    "functions_as_losses": lambda: trained(
        "dict",
        {"score": Y1, "kind": Y2},
        loss={"score": lambda y, p: tf.reduce_mean(tf.abs(y - p), -1), "kind": "mse"},
    ),
    "objects_as_metrics": lambda: trained(
        "list",
        {"score": Y1, "kind": KINDS},
        loss=LOSSES,
        metrics={
            "score": [keras.metrics.MeanAbsoluteError(name="far")],
            "kind": [keras.metrics.SparseCategoricalAccuracy()],
        },
    ),
    "refused": lambda: [
        refused("list", [Y1, KINDS], loss={"score": "mse", "wrong": "mse"}),
        refused("dict", {"score": Y1, "kind": KINDS}, loss=LOSSES, metrics={"wrong": ["mae"]}),
    ],
}

if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stdout.write("\n" + json.dumps({name: outcome(name) for name in PROGRAMS}))
