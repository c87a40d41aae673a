"""Decisions of logits: values below the first threshold belong to the first bucket."""

import numpy as np
import pytest

from pinnace import keras
from pinnace.keras import metrics

RNG = np.random.default_rng(5)
TRUE = RNG.integers(0, 2, 200)
LOGITS = (RNG.normal(size=200) * 2 + TRUE).astype("float32")
WEIGHTS = RNG.random(200).astype("float32")


def area(true, predicted, weights, count=200):
    """The area under the ROC curve, by trapezoids between the thresholds."""
    limits = np.array([-1e-7, *np.arange(1, count - 1) / (count - 1), 1 + 1e-7])
    said = np.clip(predicted, 0, 1)[None] > limits[:, None]
    hits = (said * weights)[:, true == 1].sum(1) / weights[true == 1].sum()
    alarms = (said * weights)[:, true == 0].sum(1) / weights[true == 0].sum()
    return np.sum((alarms[:-1] - alarms[1:]) * (hits[:-1] + hits[1:]) / 2)


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0, -1.0])
@pytest.mark.parametrize("count", [2, 3, 7, 200])
@pytest.mark.parametrize("weighed", [False, True])
def test_the_area_of_logits_takes_all_of_them_into_account(scale, count, weighed):
    weights = WEIGHTS if weighed else np.ones(200)
    metric = metrics.AUC(num_thresholds=count)
    metric.update_state(TRUE, LOGITS * scale, sample_weight=WEIGHTS if weighed else None)
    expected = area(TRUE, LOGITS * scale, weights, count)
    np.testing.assert_allclose(metric.result(), expected, rtol=1e-4)


def test_each_column_has_the_area_that_it_has_alone():
    true, said = RNG.integers(0, 2, (200, 3)), RNG.normal(size=(200, 3)).astype("float32")
    metric = metrics.AUC(multi_label=True)
    metric.update_state(true, said)
    alone = [area(true[:, i], said[:, i], np.ones(200)) for i in range(3)]
    np.testing.assert_allclose(metric.result(), np.mean(alone), rtol=1e-4)


def test_soft_truths_count_as_yes_where_they_are_not_0():
    metric = metrics.Precision()
    metric.update_state([0.2, 0.0, 0.9], [0.9, 0.9, 0.9])
    np.testing.assert_allclose(metric.result(), 2 / 3, rtol=1e-6)


@pytest.mark.parametrize("threshold", [0, 0.0, 1.0, -1.5, 2.0, np.float32(0)])
def test_the_threshold_of_accuracy_is_any_number(threshold):
    metric = metrics.BinaryAccuracy(threshold=threshold)
    metric.update_state(TRUE, LOGITS)
    np.testing.assert_allclose(metric.result(), ((threshold < LOGITS) == TRUE).mean(), rtol=1e-6)
    again = metrics.BinaryAccuracy.from_config(metric.get_config())
    again.update_state(TRUE, LOGITS)
    assert float(again.result()) == float(metric.result())


def test_a_threshold_that_is_no_number_is_refused():
    for threshold in (None, "0.5", [0.5]):
        with pytest.raises(ValueError, match=r"BinaryAccuracy: threshold must be a number"):
            metrics.BinaryAccuracy(threshold=threshold)
    for thresholds in (2.0, [0.1, None], float("nan")):
        with pytest.raises(ValueError, match=r"must be in \[0, 1\]"):
            metrics.Precision(thresholds)


def test_thresholds_of_an_area_may_be_those_of_logits():
    metric = metrics.AUC(thresholds=[-1.0, 2.0])
    metric.update_state(TRUE, LOGITS)
    limits = np.array([-1e-7, -1.0, 2.0, 1 + 1e-7])
    said = LOGITS[None] > limits[:, None]
    hits, alarms = said[:, TRUE == 1].mean(1), said[:, TRUE == 0].mean(1)
    expected = np.sum((alarms[:-1] - alarms[1:]) * (hits[:-1] + hits[1:]) / 2)
    np.testing.assert_allclose(metric.result(), expected, rtol=1e-5)
    assert metrics.AUC.from_config(metric.get_config())._thresholds == metric._thresholds


@pytest.mark.parametrize("weights", [(200,), (200, 1)])
def test_weights_of_rows_weigh_the_column_of_a_class(weights):
    true, said = RNG.integers(0, 2, (200, 3)), RNG.random((200, 3)).astype("float32")
    metric = metrics.Recall(class_id=1)
    metric.update_state(true, said, sample_weight=WEIGHTS.reshape(weights))
    yes = true[:, 1] == 1
    expected = (WEIGHTS * (said[:, 1] > 0.5))[yes].sum() / WEIGHTS[yes].sum()
    np.testing.assert_allclose(metric.result(), expected, rtol=1e-5)


def test_a_callback_may_watch_the_area_of_logits():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Activation("linear")])
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile("sgd", loss, metrics=[keras.metrics.AUC(name="area")])
    x = LOGITS[:, None]
    stop = keras.callbacks.EarlyStopping("val_area", mode="max", patience=1)
    history = model.fit(
        x, TRUE, validation_data=(x, TRUE), epochs=4, callbacks=[stop], verbose=0
    ).history
    expected = area(TRUE, LOGITS, np.ones(200))
    np.testing.assert_allclose(history["val_area"], [expected] * 2, rtol=1e-4)
