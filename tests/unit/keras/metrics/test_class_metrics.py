"""Classification and regression scores over several batches, against scikit-learn on all data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

import pinnace as tf
from pinnace.keras import metrics
from pinnace.keras.registry import deserialize_keras_object, serialize_keras_object

SEEDS = st.integers(0, 2**32 - 1)
# Quotients of float32 sums of at most 60 numbers; epsilon, 1e-7, is added to divisors.
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def fed(metric: Any, *arrays: Any, pieces: int = 3) -> Any:
    for batch in zip(*(np.array_split(x, pieces) for x in arrays), strict=True):
        if len(batch) > 2:
            metric.update_state(batch[0], batch[1], sample_weight=batch[2])
        else:
            metric.update_state(*batch)
    return metric.result().numpy()


@given(seed=SEEDS, beta=st.sampled_from([0.5, 1.0, 2.0]))
@pytest.mark.parametrize("average", [None, "micro", "macro", "weighted"])
@pytest.mark.parametrize("threshold", [None, 0.5])
def test_f_scores(seed: int, beta: float, average: Any, threshold: Any) -> None:
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, (60, 3)) if threshold else np.eye(3)[rng.integers(0, 3, 60)]
    said = rng.uniform(0.01, 1, (60, 3)).astype(np.float32)
    weights = rng.uniform(0.1, 2, 60).astype(np.float32)
    yes = said > threshold if threshold else said == said.max(-1, keepdims=True)
    found = fed(metrics.FBetaScore(average, beta, threshold), true, said, weights)
    wanted = sk.fbeta_score(
        true, yes, beta=beta, average=average, sample_weight=weights, zero_division=0
    )
    np.testing.assert_allclose(found, wanted, **CLOSE)
    if beta == 1:
        found = fed(metrics.F1Score(average, threshold), true, said, weights)
        np.testing.assert_allclose(found, wanted, **CLOSE)


@given(seed=SEEDS)
def test_intersections_over_unions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true, said = rng.integers(0, 4, 60), rng.integers(0, 4, 60)
    weights = rng.uniform(0.1, 2, 60).astype(np.float32)
    each = sk.jaccard_score(
        true, said, labels=range(4), average=None, sample_weight=weights, zero_division=0
    )
    seen = [n for n in range(4) if n in true or n in said]
    found = fed(metrics.IoU(4, [0, 2], dtype="float32"), true, said, weights)
    chosen = [each[n] for n in (0, 2) if n in seen]
    np.testing.assert_allclose(found, np.mean(chosen) if chosen else 0, **CLOSE)
    for one in (
        fed(metrics.MeanIoU(4, dtype="float32"), true, said, weights),
        fed(metrics.OneHotMeanIoU(4, dtype="float32"), np.eye(4)[true], np.eye(4)[said], weights),
    ):
        np.testing.assert_allclose(one, np.mean([each[n] for n in seen]), **CLOSE)
    kept = true != 1
    found = fed(metrics.MeanIoU(4, ignore_class=1), true, said)
    each = sk.jaccard_score(true[kept], said[kept], labels=range(4), average=None, zero_division=0)
    seen = [n for n in range(4) if n in true[kept] or n in said[kept]]
    np.testing.assert_allclose(found, np.mean([each[n] for n in seen]), **CLOSE)


@given(seed=SEEDS)
def test_numbers_that_are_no_class_do_not_count(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true, said = rng.integers(-1, 5, 60), rng.integers(-1, 5, 60)
    kept = (true >= 0) & (true < 4) & (said >= 0) & (said < 4)
    np.testing.assert_array_equal(
        fed(metrics.MeanIoU(4), true, said), fed(metrics.MeanIoU(4), true[kept], said[kept])
    )


def test_counts_are_whole_numbers_if_nothing_else_is_asked_for() -> None:
    metric = metrics.MeanIoU(2)
    assert metric.total_cm.dtype == "int64"
    assert metric.result().dtype == "float32"
    # Keras: weights are truncated, so that of 0.3, 0.3, 0.3 and 1.1 only the last sample counts.
    with pytest.warns(UserWarning, match="weights are `float`, but dtype is int64"):
        metric.update_state([0, 0, 1, 1], [0, 1, 0, 1], sample_weight=[0.3, 0.3, 0.3, 1.1])
    np.testing.assert_allclose(metric.result(), 1.0, **CLOSE)
    assert metric.get_config()["dtype"] == "int64"


@given(seed=SEEDS)
def test_binary_intersections(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true, said = rng.integers(0, 2, 60), rng.uniform(size=60).astype(np.float32)
    true[0], said[0] = 1, 1.0
    found = fed(metrics.BinaryIoU([1], 0.4), true, said)
    np.testing.assert_allclose(found, sk.jaccard_score(true, said >= 0.4), **CLOSE)


@given(seed=SEEDS, value=st.floats(0, 1))
def test_the_best_threshold_is_that_of_a_search(seed: int, value: float) -> None:
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, 60)
    true[:2] = 0, 1
    # Numbers between the thresholds, so that rounding decides nothing.
    said = (rng.integers(0, 20, 60) / 20 + 0.025).astype(np.float32)

    def best(kept: str, wanted: str) -> float:
        found = [0.0]
        for i in range(21):
            tn, fp, fn, tp = sk.confusion_matrix(true, said > i / 20, labels=[0, 1]).ravel()
            shares = {
                "specificity": tn / (tn + fp),
                "sensitivity": tp / (tp + fn),
                "recall": tp / (tp + fn),
                "precision": tp / (tp + fp) if tp + fp else 0.0,
            }
            if np.float32(shares[kept]) >= np.float32(value):
                found.append(shares[wanted])
        return max(found)

    for kind, kept, wanted in (
        (metrics.SensitivityAtSpecificity, "specificity", "sensitivity"),
        (metrics.SpecificityAtSensitivity, "sensitivity", "specificity"),
        (metrics.PrecisionAtRecall, "recall", "precision"),
        (metrics.RecallAtPrecision, "precision", "recall"),
    ):
        found = fed(kind(value, num_thresholds=21), true, said)
        np.testing.assert_allclose(found, best(kept, wanted), **CLOSE)


@given(seed=SEEDS)
def test_explained_variance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(60, 3)).astype(np.float32)
    said = (true + rng.normal(size=(60, 3))).astype(np.float32)
    weights = rng.uniform(0.1, 2, 60).astype(np.float32)
    for ours, theirs in (
        (None, "raw_values"),
        ("uniform_average", "uniform_average"),
        ("variance_weighted_average", "variance_weighted"),
    ):
        found = fed(metrics.R2Score(ours), true, said, weights)
        wanted = sk.r2_score(true, said, sample_weight=weights, multioutput=theirs)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)  # a difference of squares
    plain = fed(metrics.R2Score(), true[:, :1], said[:, :1])
    adjusted = fed(metrics.R2Score(num_regressors=2), true[:, :1], said[:, :1])
    np.testing.assert_allclose(adjusted, 1 - (1 - plain) * 59 / 57, rtol=1e-4, atol=1e-4)


@given(seed=SEEDS)
@pytest.mark.parametrize("weights", [None, [0.2, 1.0, 3.0]])
def test_areas_under_curves(seed: int, weights: Any) -> None:
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, (60, 3))
    true[:2] = [[0], [1]]
    # One point of the curve between any two occurring scores: the area is exact.
    said = (rng.integers(0, 20, (60, 3)) / 20 + 0.025).astype(np.float32)
    each = [sk.roc_auc_score(true[:, i], said[:, i]) for i in range(3)]
    found = fed(metrics.AUC(21, multi_label=True, label_weights=weights), true, said)
    np.testing.assert_allclose(found, np.average(each, weights=weights), **CLOSE)
    found = fed(metrics.AUC(21), true[:, 0], said[:, 0])
    np.testing.assert_allclose(found, each[0], **CLOSE)
    inner = [i / 20 for i in range(1, 20)]
    logits = np.log(said / (1 - said))
    found = fed(metrics.AUC(thresholds=inner, from_logits=True), true[:, 0], logits[:, 0])
    np.testing.assert_allclose(found, each[0], **CLOSE)
    low, high = (
        fed(metrics.AUC(21, summation_method=s), true[:, 0], said[:, 0])
        for s in ("minoring", "majoring")
    )
    assert low - 1e-5 <= each[0] <= high + 1e-5
    everything = fed(metrics.AUC(21, "PR", "minoring"), true[:, 0], said[:, 0])
    assert everything <= sk.average_precision_score(true[:, 0], said[:, 0]) + 1e-5


@given(seed=SEEDS, k=st.integers(1, 3))
def test_only_the_most_likely_classes_are_said(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    true, said = rng.integers(0, 2, (60, 4)), rng.uniform(size=(60, 4)).astype(np.float32)
    first = np.argsort(np.argsort(-said)) < k
    for kind, reference in (
        (metrics.Precision, sk.precision_score),
        (metrics.Recall, sk.recall_score),
    ):
        wanted = reference(true.ravel(), first.ravel(), zero_division=0)
        np.testing.assert_allclose(fed(kind(top_k=k), true, said), wanted, **CLOSE)
        both = (first & (said > 0.6)).ravel()
        wanted = reference(true.ravel(), both, zero_division=0)
        np.testing.assert_allclose(fed(kind(0.6, top_k=k), true, said), wanted, **CLOSE)


def test_too_few_samples_give_the_plain_score_and_say_so() -> None:
    metric = metrics.R2Score(num_regressors=5)
    metric.update_state([[1.0], [2.0]], [[1.0], [3.0]])
    with pytest.warns(UserWarning, match="5 regressors need more than 6 samples"):
        assert metric.result() == sk.r2_score([1.0, 2.0], [1.0, 3.0])


EVERY = [
    metrics.FBetaScore("macro", 2.0, 0.5),
    metrics.F1Score("micro"),
    metrics.IoU(3, [0, 1], ignore_class=2),
    metrics.BinaryIoU([0], 0.3),
    metrics.MeanIoU(3, sparse_y_pred=False),
    metrics.OneHotIoU(3, [1]),
    metrics.OneHotMeanIoU(3, axis=-1),
    metrics.SensitivityAtSpecificity(0.5, 10),
    metrics.SpecificityAtSensitivity(0.5, class_id=0),
    metrics.PrecisionAtRecall(0.5),
    metrics.RecallAtPrecision(0.5),
    metrics.R2Score(None, 2),
    metrics.AUC(10, "PRGAIN", "majoring", from_logits=True),
    metrics.AUC(thresholds=[0.2, 0.4], multi_label=True, num_labels=2, label_weights=[1.0, 2.0]),
    metrics.Precision(top_k=2, class_id=1),
    metrics.Recall([0.2, 0.4]),
]


@pytest.mark.parametrize("metric", EVERY, ids=lambda m: type(m).__name__)
def test_a_metric_comes_back_from_its_configuration(metric: Any) -> None:
    again = deserialize_keras_object(serialize_keras_object(metric))
    assert type(again) is type(metric)
    assert again.get_config() == metric.get_config()


def test_they_work_while_a_model_trains_and_begin_anew_with_each_epoch() -> None:
    model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(3, "softmax")])
    score = metrics.F1Score("macro")
    model.compile("sgd", "categorical_crossentropy", metrics=[score])
    x = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    y = np.eye(3, dtype=np.float32)[np.arange(30) % 3]
    model.fit(x, y, epochs=2, verbose=0)
    found = model.evaluate(x, y, verbose=0, return_dict=True)["f1_score"]
    said = model.predict(x, verbose=0).argmax(-1)
    np.testing.assert_allclose(found, sk.f1_score(y.argmax(-1), said, average="macro"), **CLOSE)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: metrics.FBetaScore("mean"), ValueError, "Invalid `average` argument value"),
        (
            lambda: metrics.FBetaScore(beta=-1.0),
            ValueError,
            "It should be > 0. Received: beta=-1.0",
        ),
        (lambda: metrics.FBetaScore(beta=1), ValueError, "It should be a Python float"),
        (lambda: metrics.F1Score(threshold=1.5), ValueError, "It should verify 0 < threshold <= 1"),
        (
            lambda: metrics.IoU(2, [2]),
            ValueError,
            r"target_class_ids must be below .* 2, got \[2\]",
        ),
        (
            lambda: metrics.PrecisionAtRecall(1.5),
            ValueError,
            r"`recall` must be in the range \[0, 1\]",
        ),
        (lambda: metrics.RecallAtPrecision(0.5, 0), ValueError, "must be an integer > 0, got 0"),
        (lambda: metrics.AUC(curve="roccurve"), ValueError, "It must be ROC, PR or PRGAIN"),
        (lambda: metrics.AUC(summation_method="mean"), ValueError, "must be one of interpolation"),
        (lambda: metrics.AUC(num_labels=2), ValueError, "for multi_label=True only"),
        (lambda: metrics.Recall(top_k=0), ValueError, "top_k must be at least 1, got 0"),
        (lambda: metrics.R2Score("mean"), ValueError, "`class_aggregation`: it must be one of"),
        (
            lambda: metrics.Precision(class_id=1)(np.ones(3), np.ones(3)),
            ValueError,
            "y_pred must be a 2D array",
        ),
        (lambda: metrics.AUC(num_thresholds=1), ValueError, "must be an integer > 1, got 1"),
        (lambda: metrics.R2Score(num_regressors=-1), ValueError, "must not be below 0, got -1"),
        (lambda: metrics.F1Score().update_state([1.0], [1.0]), ValueError, r"got shape \[1\]"),
        (lambda: metrics.R2Score().update_state([1.0], [1.0]), ValueError, r"got shape \[1\]"),
    ],
)
def test_what_is_wrong_is_said(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_settings_are_attributes_of_their_names() -> None:
    sorted_ids = metrics.SparseTopKCategoricalAccuracy(k=2, from_sorted_ids=True)
    assert (sorted_ids.k, sorted_ids.from_sorted_ids) == (2, True)
    assert metrics.TopKCategoricalAccuracy(k=3).k == 3
    assert metrics.SensitivityAtSpecificity(0.25).specificity == 0.25
    assert metrics.RecallAtPrecision(0.75).precision == 0.75
    assert metrics.AUC(num_thresholds=None, thresholds=[0.5]).num_thresholds == 3


def test_bools_are_probabilities() -> None:
    found = metrics.BinaryAccuracy()([True, False, True], [True, True, True])
    np.testing.assert_allclose(float(found), 2 / 3, rtol=1e-6)
