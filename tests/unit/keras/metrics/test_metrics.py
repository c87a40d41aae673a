"""Metrics over several batches against one computation over all of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import metrics as sk

from pinnace.functions.function import function
from pinnace.keras import metrics
from pinnace.keras.registry import deserialize_keras_object, serialize_keras_object

F = NDArray[np.float64]
RNG = np.random.default_rng(2)
TRUE = RNG.uniform(0.1, 0.9, (60, 4)).astype(np.float32)
PREDICTED = RNG.uniform(0.1, 0.9, (60, 4)).astype(np.float32)
NUMBERS = RNG.integers(0, 4, 60)
ONE_HOT = np.eye(4, dtype=np.float32)[NUMBERS]
YES = RNG.integers(0, 2, 60).astype(np.float32)
LIKELY = np.clip(YES * 0.3 + RNG.uniform(0, 0.7, 60), 0, 1).astype(np.float32)
WEIGHTS = RNG.uniform(0, 2, 60).astype(np.float32)


def top(k: int) -> Callable[[Any, F], F]:
    return lambda y, p: (np.argsort(-p)[:, :k] == y[:, None]).any(-1)


CASES: list[tuple[metrics.Metric, Any, Any, Callable[[Any, Any], Any]]] = [
    (metrics.Accuracy(), NUMBERS, NUMBERS[::-1].copy(), np.equal),
    (metrics.BinaryAccuracy(threshold=0.4), YES, LIKELY, lambda t, p: (p > 0.4) == t),
    (metrics.CategoricalAccuracy(), ONE_HOT, PREDICTED, lambda t, p: t.argmax(-1) == p.argmax(-1)),
    (metrics.SparseCategoricalAccuracy(), NUMBERS, PREDICTED, lambda t, p: t == p.argmax(-1)),
    (metrics.SparseTopKCategoricalAccuracy(2), NUMBERS, PREDICTED, top(2)),
    (metrics.TopKCategoricalAccuracy(3), ONE_HOT, PREDICTED, lambda t, p: top(3)(t.argmax(-1), p)),
    (metrics.MeanSquaredError(), TRUE, PREDICTED, lambda t, p: ((t - p) ** 2).mean(-1)),
    (metrics.MeanAbsoluteError(), TRUE, PREDICTED, lambda t, p: np.abs(t - p).mean(-1)),
    (
        metrics.MeanAbsolutePercentageError(),
        TRUE,
        PREDICTED,
        lambda t, p: 100 * np.abs((t - p) / t).mean(-1),
    ),
    (metrics.Poisson(), TRUE, PREDICTED, lambda t, p: (p - t * np.log(p)).mean(-1)),
    (metrics.KLDivergence(), TRUE, PREDICTED, lambda t, p: (t * np.log(t / p)).sum(-1)),
    (metrics.LogCoshError(), TRUE, PREDICTED, lambda t, p: np.log(np.cosh(t - p)).mean(-1)),
    (metrics.Hinge(), TRUE, PREDICTED, lambda t, p: np.maximum(1 - t * p, 0).mean(-1)),
    (
        metrics.CosineSimilarity(),
        TRUE,
        PREDICTED,
        lambda t, p: (t * p).sum(-1) / np.linalg.norm(t, axis=-1) / np.linalg.norm(p, axis=-1),
    ),
    (
        metrics.BinaryCrossentropy(),
        YES[:, None],
        LIKELY[:, None],
        lambda t, p: -np.where(t > 0, np.log(np.clip(p, 1e-7, 1)), np.log(1 - p))[:, 0],
    ),
    (
        metrics.SparseCategoricalCrossentropy(),
        NUMBERS,
        PREDICTED,
        lambda t, p: _of_softmaxed_logs(t, p),
    ),
]


def _of_softmaxed_logs(t: Any, p: F) -> F:
    """Keras: sparse crossentropy treats log(p) as logits, which divides by the sum."""
    return -np.log(p / p.sum(-1, keepdims=True))[np.arange(len(t)), t]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("metric", "t", "p", "reference"), CASES, ids=lambda v: getattr(v, "name", "")
)
def test_a_metric_is_the_mean_over_all_samples(
    metric: metrics.Metric, t: Any, p: Any, reference: Callable[[Any, Any], Any]
) -> None:
    wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in (t, p)]
    each = np.asarray(reference(*wide), np.float64)
    for part in np.split(np.arange(60), [7, 30]):
        metric.update_state(t[part], p[part])
    assert float(metric.result()) == pytest.approx(each.mean(), rel=1e-4)
    metric.reset_state()
    metric.update_state(t, p, sample_weight=WEIGHTS)
    assert float(metric.result()) == pytest.approx(np.average(each, weights=WEIGHTS), rel=1e-4)
    metric.reset_states()
    assert float(metric.result()) == 0


def test_root_mean_squared_error() -> None:
    metric = metrics.RootMeanSquaredError()
    metric.update_state(TRUE[:20], PREDICTED[:20])
    metric.update_state(TRUE[20:], PREDICTED[20:])
    assert float(metric.result()) == pytest.approx(
        np.sqrt(((TRUE - PREDICTED) ** 2).mean()), rel=1e-5
    )


def test_mean_and_sum_weigh_their_values() -> None:
    mean, total = metrics.Mean(), metrics.Sum()
    for metric in (mean, total):
        metric.update_state([1.0, 3.0, 5.0, 7.0])
    assert (float(mean.result()), float(total.result())) == (4, 16)
    for metric in (mean, total):
        metric.reset_state()
        metric.update_state([1.0, 3.0, 5.0, 7.0], sample_weight=[1, 1, 0, 0])
    assert (float(mean.result()), float(total.result())) == (2, 4)
    assert float(metrics.Mean()(5.0)) == 5


@pytest.mark.parametrize(
    ("metric", "reference"),
    [
        (metrics.Precision(), lambda: sk.precision_score(YES, LIKELY > 0.5)),
        (metrics.Recall(), lambda: sk.recall_score(YES, LIKELY > 0.5)),
        (metrics.TruePositives(), lambda: ((LIKELY > 0.5) & (YES == 1)).sum()),
        (metrics.FalsePositives(), lambda: ((LIKELY > 0.5) & (YES == 0)).sum()),
        (metrics.TrueNegatives(), lambda: ((LIKELY <= 0.5) & (YES == 0)).sum()),
        (metrics.FalseNegatives(), lambda: ((LIKELY <= 0.5) & (YES == 1)).sum()),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_counts_of_decisions(metric: metrics.Metric, reference: Callable[[], float]) -> None:
    metric.update_state(YES[:25], LIKELY[:25])
    metric.update_state(YES[25:], LIKELY[25:])
    assert float(metric.result()) == pytest.approx(reference(), rel=1e-6)


def test_several_thresholds_give_several_shares() -> None:
    metric = metrics.Precision(thresholds=[0.3, 0.6])
    metric.update_state(YES, LIKELY)
    wanted = [sk.precision_score(YES, t < LIKELY) for t in (0.3, 0.6)]
    np.testing.assert_allclose(metric.result().numpy(), wanted, rtol=1e-6)


def test_decisions_are_weighted() -> None:
    metric = metrics.Recall()
    metric.update_state(YES, LIKELY, sample_weight=WEIGHTS)
    wanted = sk.recall_score(YES, LIKELY > 0.5, sample_weight=WEIGHTS)
    assert float(metric.result()) == pytest.approx(wanted, rel=1e-5)


def test_area_under_the_curve() -> None:
    metric = metrics.AUC(num_thresholds=2000)
    metric.update_state(YES[:25], LIKELY[:25])
    metric.update_state(YES[25:], LIKELY[25:])
    assert float(metric.result()) == pytest.approx(sk.roc_auc_score(YES, LIKELY), abs=1e-3)
    precise = metrics.AUC(num_thresholds=2000, curve="PR")
    precise.update_state(YES, LIKELY)
    precision, recall, _ = sk.precision_recall_curve(YES, LIKELY)
    assert float(precise.result()) == pytest.approx(sk.auc(recall, precision), abs=0.02)


def test_a_traced_update_changes_the_same_state() -> None:
    metric = metrics.SparseCategoricalAccuracy()
    update = function(lambda y, p: metric.update_state(y, p))
    update(NUMBERS, PREDICTED)
    update(NUMBERS, PREDICTED)
    assert float(metric.count) == 120
    assert float(metric.result()) == pytest.approx((PREDICTED.argmax(-1) == NUMBERS).mean())


def test_an_older_subclass_names_its_weights() -> None:
    class Positives(metrics.Metric):
        def __init__(self, name: str = "positives", **kwargs: Any) -> None:
            super().__init__(name=name, **kwargs)
            self.count = self.add_weight(name="count", initializer="zeros")

        def update_state(self, y_true: Any, y_pred: Any) -> None:
            del y_true
            self.count.assign_add(float(np.sum(np.asarray(y_pred) > 0)))

        def result(self) -> Any:
            return self.count.value()

    metric = Positives()
    assert float(metric([0], [1.0, -1.0, 2.0])) == 2
    assert metric.variables[0].path == "positives/count"
    metric.reset_state()
    assert float(metric.result()) == 0


@pytest.mark.parametrize(
    "metric",
    [
        metrics.Mean("m"),
        metrics.BinaryAccuracy(threshold=0.3),
        metrics.SparseTopKCategoricalAccuracy(3),
        metrics.Precision(thresholds=[0.2, 0.3], class_id=1),
        metrics.AUC(num_thresholds=50, curve="PR"),
        metrics.BinaryCrossentropy(from_logits=True),
    ],
    ids=lambda m: type(m).__name__,
)
def test_a_metric_is_made_again_from_its_configuration(metric: metrics.Metric) -> None:
    again = deserialize_keras_object(serialize_keras_object(metric))
    assert type(again) is type(metric)
    assert again.get_config() == metric.get_config()


def test_unknown_names_are_told() -> None:
    with pytest.raises(ValueError, match=r"metric: name must be one of .*, got 'accurate'"):
        metrics.get("accurate")
