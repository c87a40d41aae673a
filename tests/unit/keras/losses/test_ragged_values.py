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


def test_a_loss_of_the_library_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="to_tensor"):
        keras.losses.MeanSquaredError()(tf.ragged.constant(TRUE), tf.ragged.constant(PREDICTED))
