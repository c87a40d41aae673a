"""Metrics with thresholds, of probabilities, logits and soft labels; see `both`.

python keras_threshold_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
metrics = tf.keras.metrics

COUNT = 60
RNG = np.random.default_rng(1)
TRUE = RNG.integers(0, 2, COUNT).astype("float32")
LOGITS = (RNG.normal(size=COUNT) * 2 + TRUE * 2 - 1).astype("float32")
LIKELY = (1 / (1 + np.exp(-LOGITS))).astype("float32")
WEIGHTS = RNG.random(COUNT).astype("float32")
TRUTHS = {"numbers": TRUE, "bools": TRUE > 0, "soft": RNG.random(COUNT).astype("float32")}
PREDICTED = {
    "logits": LOGITS,
    "probabilities": LIKELY,
    "coarse": np.round(LIKELY, 1),
    "edges": np.array([0, 0, 1, 1, 0.5, 0.5, 0.25, 0.75, 1, 0] * 6, "float32"),
    "large": LOGITS * 100,
    "below": -np.abs(LOGITS),
    "above": np.abs(LOGITS) + 1,
}
SEVERAL = RNG.normal(size=(COUNT, 3)).astype("float32")
COLUMNS = RNG.integers(0, 2, (COUNT, 3)).astype("float32")
AUC = metrics.AUC


def told(make: Callable[[], Any], true: Any, predicted: Any, weights: Any) -> Any:
    """The result of a new metric for these, or that it refuses them."""
    try:
        metric = make()
    except ValueError:
        return "refused"
    metric.update_state(true, predicted, sample_weight=weights)
    return np.asarray(metric.result(), "float64").tolist()


def of(*makers: Callable[[], Any]) -> Callable[[], Any]:
    """Each metric on each kind of predictions, labels and weights."""

    def program() -> Any:
        return {
            f"{index} {said} {true} {weights is not None}": told(
                make, TRUTHS[true], predicted, weights
            )
            for index, make in enumerate(makers)
            for said, predicted in PREDICTED.items()
            for true in TRUTHS
            for weights in (None, WEIGHTS)
        }

    return program


def of_columns(*makers: Callable[[], Any]) -> Callable[[], Any]:
    """Each metric on several columns, weighted by row."""

    def program() -> Any:
        return {
            f"{index} {said} {number}": told(make, COLUMNS, predicted, weights)
            for index, make in enumerate(makers)
            for said, predicted in {
                "logits": SEVERAL,
                "probabilities": 1 / (1 + np.exp(-SEVERAL)),
                "edges": np.round(SEVERAL),
            }.items()
            for number, weights in enumerate((None, WEIGHTS, WEIGHTS[:, None]))
        }

    return program


def configurations() -> Any:
    made = (AUC(thresholds=[-1.0, 2.0]), metrics.BinaryAccuracy(threshold=0.0))
    return [{k: v for k, v in metric.get_config().items() if k != "dtype"} for metric in made]


def compiled() -> Any:
    """Metrics compiled into a model that outputs logits."""
    given = tf.keras.Input((1,))
    model = tf.keras.Model(given, tf.keras.layers.Activation("linear")(given))
    loss = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    decided = [AUC(name="roc"), AUC(curve="PR", name="pr"), metrics.Precision(thresholds=0)]
    model.compile("sgd", loss, metrics=[*decided, metrics.BinaryAccuracy(threshold=0.0)])
    return model.evaluate(LOGITS[:, None], TRUE[:, None], verbose=0, return_dict=True)


PROGRAMS = {
    "curves": of(AUC, lambda: AUC(curve="PR"), lambda: AUC(curve="PRGAIN")),
    "sums": of(lambda: AUC(summation_method="minoring"), lambda: AUC(summation_method="majoring")),
    "numbers_of_thresholds": of(
        lambda: AUC(num_thresholds=2), lambda: AUC(num_thresholds=5), lambda: AUC(num_thresholds=31)
    ),
    "given_thresholds": of(
        lambda: AUC(thresholds=[0.1, 0.2, 0.7]),
        lambda: AUC(thresholds=[0.25, 0.5, 0.75]),
        lambda: AUC(thresholds=[0.7, 0.2]),
        lambda: AUC(thresholds=[]),
        lambda: AUC(thresholds=[0.0, 0.5, 1.0]),
        lambda: AUC(thresholds=[-1.0, 2.0]),
        lambda: AUC(thresholds=[-1.0, 0.0]),
    ),
    "area_from_logits": of(lambda: AUC(from_logits=True)),
    "counts": of(
        metrics.TruePositives,
        lambda: metrics.TruePositives(0.0),
        lambda: metrics.TruePositives([0.0, 0.5, 1.0]),
        lambda: metrics.FalsePositives([0.0, 0.25, 0.5, 0.75, 1.0]),
        lambda: metrics.TrueNegatives([0.1, 0.2, 0.9]),
        lambda: metrics.FalseNegatives([0.0, 0.5, 1.0]),
    ),
    "shares": of(
        metrics.Precision,
        lambda: metrics.Precision(0),
        lambda: metrics.Precision([0.0, 0.5, 1.0]),
        lambda: metrics.Precision(2.0),
        metrics.Recall,
        lambda: metrics.Recall(0.0),
        lambda: metrics.Recall([0.2, 0.8]),
    ),
    "operating_points": of(
        lambda: metrics.SensitivityAtSpecificity(0.5),
        lambda: metrics.SensitivityAtSpecificity(1.0),
        lambda: metrics.SensitivityAtSpecificity(0.5, num_thresholds=1),
        lambda: metrics.SpecificityAtSensitivity(0.5, num_thresholds=3),
        lambda: metrics.PrecisionAtRecall(0.5),
        lambda: metrics.PrecisionAtRecall(0.5, num_thresholds=2),
        lambda: metrics.RecallAtPrecision(0.5),
    ),
    "binary_accuracy": of(
        metrics.BinaryAccuracy,
        lambda: metrics.BinaryAccuracy(threshold=0),
        lambda: metrics.BinaryAccuracy(threshold=1.0),
        lambda: metrics.BinaryAccuracy(threshold=-1.0),
        lambda: metrics.BinaryAccuracy(threshold=2.0),
    ),
    "columns": of_columns(
        AUC,
        lambda: AUC(label_weights=[1.0, 2.0, 3.0]),
        lambda: AUC(multi_label=True),
        lambda: AUC(multi_label=True, curve="PR"),
        lambda: AUC(multi_label=True, from_logits=True),
        lambda: AUC(multi_label=True, num_labels=3, thresholds=[0.1, 0.5]),
        lambda: AUC(multi_label=True, label_weights=[1.0, 2.0, 3.0]),
    ),
    "classes": of_columns(
        lambda: metrics.Precision(class_id=1),
        lambda: metrics.Precision(top_k=2),
        lambda: metrics.Precision(top_k=2, thresholds=0.5),
        lambda: metrics.Recall(top_k=1, class_id=0),
        lambda: metrics.Recall(top_k=1, thresholds=[0.0, 0.5, 1.0]),
        lambda: metrics.PrecisionAtRecall(0.4, class_id=2),
    ),
    "configurations": configurations,
    "compiled": compiled,
}


if __name__ == "__main__":
    report(PROGRAMS)
