"""Losses and metrics of one's own are given ragged and sparse tensors as they are, as in Keras."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
PREDICTED = [[1.0, 4.0], [2.0, 3.0, 5.0]]
TRUE = [[1.0, 1.0], [2.0, 0.0, 0.0]]


def flat(y_true: Any, y_pred: Any) -> Any:
    return tf.reduce_mean(tf.abs(y_true - y_pred).flat_values)


def by_row(y_true: Any, y_pred: Any) -> Any:
    return tf.reduce_sum(tf.square(y_true - y_pred), axis=1)


def padded(y_true: Any, y_pred: Any) -> Any:
    return tf.reduce_mean(tf.square(y_true.to_tensor() - y_pred.to_tensor()), -1)


class Flat(keras.losses.Loss):
    def call(self, y_true: Any, y_pred: Any) -> Any:
        return flat(y_true, y_pred)


# Values of Keras 3.15.
LOSSES: dict[str, tuple[Any, float]] = {
    "a number": (lambda _, __: 0.0, 0.0),
    "flat": (flat, 2.2),
    "by row": (by_row, 21.5),
    "padded": (padded, 43 / 6),
    "a class": (Flat(), 2.2),
}


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_a_model_is_evaluated_and_trained_on_ragged_tensors(name: str, eager: bool) -> None:
    loss, wanted = LOSSES[name]
    model = keras.Sequential([keras.layers.Identity()])
    model.compile("sgd", loss, metrics=[flat], run_eagerly=eager)
    x, y = tf.ragged.constant(PREDICTED), tf.ragged.constant(TRUE)
    found = model.evaluate(x, y, verbose=0, return_dict=True)
    np.testing.assert_allclose([found["loss"], found["flat"]], [wanted, 2.2], rtol=1e-6)


def test_an_embedding_is_trained_on_ragged_rows() -> None:
    model = keras.Sequential([keras.layers.Embedding(6, 1)])

    def loss(_: Any, y_pred: Any) -> Any:
        return tf.reduce_mean(tf.square(y_pred.flat_values - 1.0))

    model.compile(keras.optimizers.SGD(0.5), loss)
    rows = tf.ragged.constant([[1], [2, 3]])
    history = model.fit(rows, rows, epochs=5, verbose=0).history["loss"]
    assert history[-1] < history[0]
    assert isinstance(model.predict(rows, verbose=0), tf.RaggedTensor)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_have_the_dtype_of_the_loss(dtype: str) -> None:
    seen = []

    class Sees(keras.losses.Loss):
        def call(self, y_true: Any, y_pred: Any) -> Any:
            seen.extend([y_true, y_pred])
            return tf.constant([1.0])

    loss = Sees(dtype=dtype)
    assert loss(tf.ragged.constant([[1], [2, 3]]), tf.sparse.from_dense([[0, 2], [1, 0]])) == 1
    assert [value.dtype for value in seen] == [dtype, dtype]
    assert isinstance(seen[0], tf.RaggedTensor)
    assert isinstance(seen[1], tf.SparseTensor)


def test_a_loss_of_the_library_that_takes_whole_tensors_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="to_tensor"):
        keras.losses.BinaryCrossentropy()(tf.ragged.constant(TRUE), tf.ragged.constant(PREDICTED))


SHARES = [[0.9, 0.2], [0.8, 0.6, 0.3]]
ZERO_OR_ONE = [[1.0, 0.0], [1.0, 1.0, 0.0]]
# Of each row; Keras 3.15.
BY_ROW = {
    "MeanSquaredError": (0.025, 0.29 / 3),
    "MeanAbsoluteError": (0.15, 0.3),
    "MeanAbsolutePercentageError": (1.00000008e8, 1.00000016e8),
    "MeanSquaredLogarithmicError": (0.01793606, 0.04324294),
    "Huber": (0.0125, 0.145 / 3),
    "LogCosh": (0.01242986, 0.04738742),
    "Poisson": (0.60268021, 0.81132293),
    "Hinge": (0.65, 1.9 / 3),
    "SquaredHinge": (0.725, 0.63),
    "KLDivergence": (0.10535911, 0.7339676),
    "CosineSimilarity": (-0.97618705, -0.94819963),
}


@pytest.mark.parametrize("name", BY_ROW)
def test_losses_of_the_library_give_a_value_a_row(name: str) -> None:
    y_true, y_pred = tf.ragged.constant(ZERO_OR_ONE), tf.ragged.constant(SHARES)
    loss, wanted = getattr(keras.losses, name), np.array(BY_ROW[name])
    near = {"rtol": 1e-5, "atol": 2e-6}
    np.testing.assert_allclose(loss(reduction="none")(y_true, y_pred), wanted, **near)
    np.testing.assert_allclose(loss()(y_true, y_pred), wanted.mean(), **near)
    weighted = loss()(y_true, y_pred, sample_weight=np.array([1.0, 2.0]))
    np.testing.assert_allclose(weighted, (wanted * [1, 2]).mean(), **near)


@pytest.mark.parametrize(
    ("make", "wanted", "weighted"),
    [
        (keras.metrics.MeanSquaredError, 0.06083333, 0.07277777),
        (keras.metrics.RootMeanSquaredError, 0.24664414, 0.26977354),
        (keras.metrics.BinaryAccuracy, 1.0, 1.0),
        (keras.metrics.Accuracy, 0.0, 0.0),
        (keras.metrics.CosineSimilarity, 0.96219337, 0.95752877),
        (lambda: keras.metrics.MeanMetricWrapper(lambda x, y: tf.abs(x - y)), 0.225, 0.25),
    ],
)
def test_metrics_average_ragged_rows(make: Any, wanted: float, weighted: float) -> None:
    y_true, y_pred = tf.ragged.constant(ZERO_OR_ONE), tf.ragged.constant(SHARES)
    np.testing.assert_allclose(make()(y_true, y_pred), wanted, rtol=1e-5)
    found = make()(y_true, y_pred, sample_weight=np.array([1.0, 2.0]))
    np.testing.assert_allclose(found, weighted, rtol=1e-5)


def test_a_row_counts_once_in_a_mean_and_whole_in_a_sum() -> None:
    x = tf.ragged.constant(SHARES)
    np.testing.assert_allclose(keras.metrics.Mean()(x), (0.55 + 1.7 / 3) / 2, rtol=1e-6)
    np.testing.assert_allclose(keras.metrics.Mean()(x, [1, 2]), (0.55 + 3.4 / 3) / 3, rtol=1e-6)
    np.testing.assert_allclose(keras.metrics.Sum()(x), 2.8, rtol=1e-6)
    np.testing.assert_allclose(keras.metrics.Sum()(x, [1, 2]), 4.5, rtol=1e-6)


@pytest.mark.parametrize("eager", [False, True])
def test_a_model_is_compiled_with_names_of_losses_for_ragged_tensors(eager: bool) -> None:
    model = keras.Sequential([keras.layers.Identity()])
    model.compile("sgd", "mse", metrics=["mae"], run_eagerly=eager)
    x, y = tf.ragged.constant(SHARES), tf.ragged.constant(ZERO_OR_ONE)
    np.testing.assert_allclose(model.evaluate(x, y, verbose=0), [0.06083333, 0.225], rtol=1e-5)


ROWS = (
    tf.ragged.constant([[1.0, 0.0, 1.0], [1.0, 0.0]]),
    tf.ragged.constant([[0.3, 0.8, 0.4], [0.6, 0.7]]),
)


# Values of Keras 3.15.
@pytest.mark.parametrize(
    ("loss", "wanted"),
    [
        (keras.losses.Dice(reduction="none"), 0.55172),
        (keras.losses.Dice(reduction="none", axis=-1), [0.6, 0.47826]),
        (keras.losses.Dice(), 0.55172),
        (keras.losses.Tversky(axis=0), 0.60263),
        (keras.losses.Tversky(reduction="none", axis=0), [0.37931, 1.0, 0.42857]),
    ],
)
def test_overlaps_of_ragged_rows(loss: Any, wanted: Any) -> None:
    np.testing.assert_allclose(loss(*ROWS), wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("metric", "weights", "wanted"),
    [
        (keras.metrics.AUC(), None, 0.0),
        (keras.metrics.AUC(curve="PR"), None, 0.38914),
        (keras.metrics.MeanIoU(2), None, 0.2),
        (keras.metrics.IoU(2, [0]), None, 0.4),
        (keras.metrics.BinaryIoU(threshold=0.5), None, 0.1),
        (keras.metrics.PrecisionAtRecall(0.5), None, 0.6),
        (keras.metrics.PearsonCorrelation(), None, -0.99099),
        (keras.metrics.PearsonCorrelation(), [2.0, 1.0], -0.98799),
        (keras.metrics.ConcordanceCorrelation(), [2.0, 1.0], -0.51004),
    ],
)
def test_metrics_of_ragged_rows(metric: Any, weights: Any, wanted: float) -> None:
    metric.update_state(*ROWS, sample_weight=weights)
    np.testing.assert_allclose(metric.result(), wanted, atol=1e-5)


def test_metrics_that_count_values_refuse_weights_of_ragged_rows() -> None:
    for metric in (keras.metrics.AUC(), keras.metrics.MeanIoU(2, dtype="float32")):
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            metric.update_state(*ROWS, sample_weight=[2.0, 1.0])
