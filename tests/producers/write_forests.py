"""Write forests of ydf with the predictions of ydf and TensorFlow: `write_forests.py FOLDER`.

It runs where ydf, ydf-tf and TensorFlow are installed, and does not import pinnace. Each
FOLDER/NAME has `forest/`, as ydf saves it, `model/`, a SavedModel if ydf can write one, and
`io.npz`: features as `in/NAME`, ydf's predictions as `ydf`, TensorFlow's as `out/NAME`, the leaves
as `leaves`.
"""

import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
import ydf
import ydf_tf  # noqa: F401  registers the ops

ROWS, ASKED = 600, 37
WORDS = np.array(["alder", "birch", "cedar", "elm", "fir", "oak", "pine", "yew"])


def features(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Features of every type, some with missing values."""
    found = {
        "f1": rng.normal(size=rows).astype("f4"),
        "f2": rng.normal(size=rows).astype("f4"),
        "f3": rng.integers(0, 9, rows).astype("f4"),
        "f4": (10 * rng.normal(size=rows)).astype("f4"),
        "c": rng.choice(["red", "green", "blue", "grey", ""], rows, p=[0.3, 0.3, 0.2, 0.1, 0.1]),
        "b": rng.integers(0, 2, rows).astype(bool),
    }
    found["f2"][rng.random(rows) < 0.2] = np.nan
    found["f4"][rng.random(rows) < 0.05] = np.nan
    return found


def labels(rng: np.random.Generator, x: dict[str, Any]) -> dict[str, Any]:
    """Labels that can be learned from the features."""
    y = x["f1"] + 2 * np.nan_to_num(x["f2"]) + (x["c"] == "red") * 1.5 + x["b"] * (x["f3"] > 4)
    y += np.isnan(x["f2"]) * 1.0 + rng.normal(size=len(y)) * 0.2
    return {
        "number": y.astype("f4"),
        "count": np.floor(np.exp(np.clip(y / 2, -3, 3))).astype("f4"),
        "three": np.where(y > 1, "high", np.where(y < -0.5, "low", "middle")),
        "two": np.where(y > 0.5, "yes", "no"),
        "integer": (1 + (y > 0) + (y > 1.5)).astype("i8"),
    }


def sets(rng: np.random.Generator, rows: int) -> Any:
    """A feature that is a set of words."""
    return [list(rng.choice(WORDS, rng.integers(0, 5), replace=False)) for _ in range(rows)]


BOOSTED, FOREST, CART = (
    ydf.GradientBoostedTreesLearner,
    ydf.RandomForestLearner,
    ydf.CartLearner,
)
TASK = ydf.Task
# name -> learner, label, task, its arguments
KINDS: dict[str, tuple[Any, str, Any, dict[str, Any]]] = {
    "boosted_binary": (BOOSTED, "two", TASK.CLASSIFICATION, {}),
    "boosted_binary_logits": (BOOSTED, "two", TASK.CLASSIFICATION, {"apply_link_function": False}),
    "boosted_focal": (BOOSTED, "two", TASK.CLASSIFICATION, {"loss": "BINARY_FOCAL_LOSS"}),
    "boosted_three": (BOOSTED, "three", TASK.CLASSIFICATION, {}),
    "boosted_three_logits": (BOOSTED, "three", TASK.CLASSIFICATION, {"apply_link_function": False}),
    "boosted_integers": (BOOSTED, "integer", TASK.CLASSIFICATION, {}),
    "boosted_number": (BOOSTED, "number", TASK.REGRESSION, {}),
    "boosted_absolute": (BOOSTED, "number", TASK.REGRESSION, {"loss": "MEAN_AVERAGE_ERROR"}),
    "boosted_count": (BOOSTED, "count", TASK.REGRESSION, {"loss": "POISSON"}),
    "boosted_deep": (BOOSTED, "number", TASK.REGRESSION, {"max_depth": 12, "min_examples": 2}),
    "boosted_best_first": (
        BOOSTED,
        "number",
        TASK.REGRESSION,
        {"growing_strategy": "BEST_FIRST_GLOBAL", "max_num_nodes": 20},
    ),
    "boosted_local_imputation": (
        BOOSTED,
        "number",
        TASK.REGRESSION,
        {"missing_value_policy": "LOCAL_IMPUTATION"},
    ),
    "boosted_random_imputation": (
        BOOSTED,
        "number",
        TASK.REGRESSION,
        {"missing_value_policy": "RANDOM_LOCAL_IMPUTATION"},
    ),
    "boosted_asks_for_missing": (BOOSTED, "number", TASK.REGRESSION, {"allow_na_conditions": True}),
    "boosted_oblique": (BOOSTED, "number", TASK.REGRESSION, {"split_axis": "SPARSE_OBLIQUE"}),
    "boosted_discretised": (
        BOOSTED,
        "number",
        TASK.REGRESSION,
        {"discretize_numerical_columns": True, "num_discretized_numerical_bins": 20},
    ),
    "boosted_random_categories": (
        BOOSTED,
        "three",
        TASK.CLASSIFICATION,
        {"categorical_algorithm": "RANDOM"},
    ),
    "boosted_sets": (BOOSTED, "set_label", TASK.CLASSIFICATION, {}),
    "boosted_ranking": (BOOSTED, "relevance", TASK.RANKING, {"ranking_group": "group"}),
    "boosted_ranking_cross_entropy": (
        BOOSTED,
        "relevance",
        TASK.RANKING,
        {"ranking_group": "group", "loss": "XE_NDCG_MART"},
    ),
    "forest_two": (FOREST, "two", TASK.CLASSIFICATION, {}),
    "forest_three": (FOREST, "three", TASK.CLASSIFICATION, {}),
    "forest_shares": (FOREST, "three", TASK.CLASSIFICATION, {"winner_take_all": False}),
    "forest_number": (FOREST, "number", TASK.REGRESSION, {}),
    "forest_oblique": (FOREST, "three", TASK.CLASSIFICATION, {"split_axis": "SPARSE_OBLIQUE"}),
    "forest_projected": (FOREST, "three", TASK.CLASSIFICATION, {"split_axis": "MHLD_OBLIQUE"}),
    "forest_sets": (FOREST, "set_label", TASK.CLASSIFICATION, {}),
    "forest_uplift": (
        FOREST,
        "two",
        TASK.CATEGORICAL_UPLIFT,
        {"uplift_treatment": "treatment"},
    ),
    "cart_three": (CART, "three", TASK.CLASSIFICATION, {}),
    "cart_number": (CART, "number", TASK.REGRESSION, {}),
    "isolation": (ydf.IsolationForestLearner, "", TASK.ANOMALY_DETECTION, {}),
}


def trained(name: str) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """A model, the columns on which it was trained, and the features for its predictions."""
    learner, label, task, more = KINDS[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    columns = features(rng, ROWS)
    known = labels(rng, columns)
    asked = features(np.random.default_rng(5), ASKED)
    asked["c"][:3] = "never seen"
    arguments = dict(more)
    if label == "set_label":
        columns["s"], asked["s"] = sets(rng, ROWS), sets(rng, ASKED)
        known[label] = np.array(["in" if {"oak", "elm"} & set(s) else "out" for s in columns["s"]])
        arguments["features"] = [("s", ydf.Semantic.CATEGORICAL_SET)]
        arguments["include_all_columns"] = True
    if "ranking_group" in more:
        columns["group"] = rng.integers(0, 40, ROWS).astype("S")
        known[label] = np.clip(np.round(known["number"]), 0, 4).astype("f4")
    if "uplift_treatment" in more:
        columns["treatment"] = rng.choice(["control", "given"], ROWS)
        del columns["b"], asked["b"]  # not requested there
    if label:
        columns[label] = known[label]
        arguments["label"] = label
    if learner is not CART:
        arguments["num_trees"] = 25
    return learner(task=task, **arguments).train(columns, verbose=0), columns, asked


def write(folder: Path, name: str) -> None:
    """Write one model with its predictions."""
    model, columns, asked = trained(name)
    target = folder / name
    model.save(str(target / "forest"))
    io: dict[str, Any] = {
        f"in/{key}": np.char.encode(value) if value.dtype.kind == "U" else value
        for key, value in asked.items()
        if key != "s"
    }
    try:
        io["ydf"] = model.predict(asked)
    except RuntimeError:  # ydf has no fast engine for it; TensorFlow's op uses the slow one
        print(f"{name}: ydf does not predict")
    # Labels, groups and treatments are required, but not used.
    others = {key: columns[key][:ASKED] for key in columns if key not in asked}
    io["leaves"] = model.predict_leaves({**asked, **others})
    try:
        model.to_tensorflow_saved_model(str(target / "model"), mode="tf")
    except Exception as error:  # a model that ydf cannot write is only used as a folder
        print(f"{name}: no SavedModel: {str(error).splitlines()[0][:120]}")
    else:
        io |= answered(target / "model", asked)
    np.savez(target / "io.npz", **io)
    print(name, model.num_trees(), "trees", *(k for k in io if k.startswith("out/")), flush=True)


def answered(folder: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """TensorFlow's predictions, and its inputs that are not plain features."""
    serve = tf.saved_model.load(str(folder)).signatures["serving_default"]
    wanted = serve.structured_input_signature[1]
    given = {key: tf.constant(asked[key]) for key in wanted if key in asked}
    io = {}
    if "s" in asked:
        parts = parts_of(serve, asked["s"])
        given |= parts
        for key, value in parts.items():
            io[f"in/{key}"] = value.numpy().astype("S" if value.dtype == tf.string else "i8")
    return io | {f"out/{key}": value.numpy() for key, value in serve(**given).items()}


def parts_of(serve: Any, value: Any) -> dict[str, Any]:
    """The components of a ragged value in a signature: its items and its row splits."""
    ragged = tf.ragged.constant(value, dtype=tf.string)
    names = {
        spec.dtype: key
        for key, spec in serve.structured_input_signature[1].items()
        if key.startswith("features")
    }
    return {names[tf.string]: ragged.values, names[tf.int64]: ragged.row_splits}


def main() -> None:
    """Write all kinds, or the named ones."""
    ydf.verbose(0)
    folder = Path(sys.argv[1])
    for name in sys.argv[2:] or KINDS:
        write(folder, name)


if __name__ == "__main__":
    main()
