"""A pandas Series is a matrix with one column in `fit`, `evaluate` and `predict`, as in Keras."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import pinnace as tf

NUMBERS = np.arange(6.0) / 8
SERIES = pd.Series(NUMBERS, index=np.arange(6)[::-1])


class Seen(tf.keras.Model):
    """Records the shapes of the inputs of `call`."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = self.add_weight(shape=(), initializer="ones")
        self.shapes: list[list[int | None]] = []

    def call(self, x: Any) -> Any:
        first, *_ = tf.nest.flatten(x)
        self.shapes.append(first.shape.as_list())
        return first * self.scale


def told(y: Any, weights: Any = None) -> list[float]:
    model = Seen()
    model.compile("sgd", "mse", metrics=["mae"])
    history = model.fit(NUMBERS[:, None], y, 4, 2, verbose=0, shuffle=False, sample_weight=weights)
    return [*history.history["loss"], *history.history["mae"]]


@pytest.mark.parametrize(
    "x", [SERIES, [SERIES], {"a": SERIES, "b": NUMBERS}, dict(pd.DataFrame({"a": NUMBERS}))]
)
def test_predict_gives_a_column_for_a_series(x: Any) -> None:
    model = Seen()
    np.testing.assert_array_equal(model.predict(x, batch_size=4, verbose=0), NUMBERS[:, None])
    assert {len(shape) for shape in model.shapes} == {2}


def test_other_vectors_stay_vectors() -> None:
    for x in (NUMBERS, pl.Series(NUMBERS), pd.Index(NUMBERS)):
        assert Seen().predict(x, verbose=0).shape == (6,)


def test_one_batch_alone_is_taken_as_it_is() -> None:
    model = Seen()
    model.compile("sgd", "mse")
    assert model.predict_on_batch(SERIES).shape == (6,)
    model.train_on_batch(SERIES, SERIES)
    model.test_on_batch(SERIES, SERIES)
    assert {len(shape) for shape in model.shapes} == {1}


def test_truths_and_weights_count_as_columns_do() -> None:
    column = SERIES.to_numpy()[:, None] + 1
    assert told(SERIES + 1) == told(column)
    assert told(SERIES + 1, SERIES) == told(column, SERIES.to_numpy()[:, None])


def test_the_samples_that_are_split_off_stand_upright_too() -> None:
    model = Seen()
    model.compile("sgd", "mse")
    model.fit(SERIES, SERIES, validation_split=0.5, verbose=0)
    assert {len(shape) for shape in model.shapes} == {2}


def test_a_dense_layer_takes_a_series_and_classes_have_weights() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(SERIES, pd.Series([0, 1, 2] * 2), class_weight={0: 1.0, 1: 2.0, 2: 3.0}, verbose=0)
    assert model.predict(SERIES, verbose=0).shape == (6, 3)


def test_batches_of_another_rank_do_not_disturb_each_other() -> None:
    x = tf.keras.Input((1,))
    model = tf.keras.Model(x, tf.keras.layers.Flatten()(x * 2.0))
    model.compile("sgd", "mse")
    wanted = NUMBERS[:, None] * 2
    np.testing.assert_array_equal(model.predict(SERIES, verbose=0), wanted)
    np.testing.assert_array_equal(model.predict_on_batch(SERIES), wanted)
    np.testing.assert_array_equal(model.predict_on_batch(NUMBERS[:3]), wanted[:3])
