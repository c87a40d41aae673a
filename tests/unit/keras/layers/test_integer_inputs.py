"""Integers and bools beside weights and floats become floats, as Keras 3 promotes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf

k = tf.keras.layers
ROWS = np.array([[1, 2, 3]], np.int64)
STEPS = np.ones((1, 3, 2), np.int64)
FLOATS = np.array([[0.5, 1.5, 2.5]], np.float32)
OF_ONE = {
    "Dense": (lambda: k.Dense(2), ROWS),
    "Dense of bools": (lambda: k.Dense(2), ROWS > 1),
    "EinsumDense": (lambda: k.EinsumDense("ab,bc->ac", 2), ROWS),
    "BatchNormalization": (lambda: k.BatchNormalization(), ROWS),
    "LayerNormalization": (lambda: k.LayerNormalization(), ROWS),
    "GroupNormalization": (lambda: k.GroupNormalization(1), STEPS),
    "LSTM": (lambda: k.LSTM(2), STEPS),
    "GRU": (lambda: k.GRU(2), STEPS),
    "TimeDistributed": (lambda: k.TimeDistributed(k.Dense(2)), STEPS),
    "GlobalAveragePooling1D": (lambda: k.GlobalAveragePooling1D(), STEPS),
}
OF_TWO = {
    "Concatenate": (k.Concatenate, [[1, 2, 3, 0.5, 1.5, 2.5]]),
    "Add": (k.Add, [[1.5, 3.5, 5.5]]),
    "Subtract": (k.Subtract, [[0.5, 0.5, 0.5]]),
    "Multiply": (k.Multiply, [[0.5, 3, 7.5]]),
    "Average": (k.Average, [[0.75, 1.75, 2.75]]),
    "Maximum": (k.Maximum, [[1, 2, 3]]),
    "Dot": (lambda: k.Dot(1), [[11]]),
}


@pytest.mark.parametrize("name", OF_ONE)
def test_a_layer_with_weights_gives_for_integers_what_it_gives_for_floats(name: str) -> None:
    make, x = OF_ONE[name]
    layer = make()
    found = layer(x)
    assert found.dtype is tf.float32
    np.testing.assert_array_equal(found, layer(x.astype(np.float32)))


@pytest.mark.parametrize("name", OF_TWO)
def test_integers_join_floats(name: str) -> None:
    make, wanted = OF_TWO[name]
    found = make()([ROWS, FLOATS])
    assert found.dtype is tf.float32
    np.testing.assert_array_equal(found, wanted)


def test_integers_alone_stay_integers() -> None:
    assert k.Add()([ROWS, ROWS]).dtype is tf.int64
    assert k.Flatten()(STEPS).dtype is tf.int64
    assert k.Average()([ROWS, ROWS]).dtype.is_floating


def test_a_model_without_an_input_layer_is_fitted_to_integers() -> None:
    model = tf.keras.Sequential([k.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.arange(4).reshape(-1, 1), np.arange(4), verbose=0)
    assert model.predict(np.arange(4).reshape(-1, 1), verbose=0).dtype == np.float32


@pytest.mark.parametrize("mode", ["one_hot", "multi_hot", "count"])
def test_lookups_encode_in_int64_as_keras_does(mode: str) -> None:
    texts, numbers = np.array([["a"], ["?"]]), np.array([[7], [8]])
    for layer, x in (
        (k.StringLookup(vocabulary=["a"], output_mode=mode), texts),
        (k.IntegerLookup(vocabulary=[7], output_mode=mode), numbers),
    ):
        found = layer(x)
        assert found.dtype is tf.int64
        assert found.numpy().tolist() == [[0, 1], [1, 0]]


def test_an_encoded_word_goes_into_a_model_beside_numbers() -> None:
    word, number = tf.keras.Input((1,), dtype="string"), tf.keras.Input((2,))
    encoded = k.StringLookup(vocabulary=["a"], output_mode="one_hot")(word)
    output: Any = k.Dense(1, kernel_initializer="ones")(k.Concatenate()([encoded, number]))
    model = tf.keras.Model([word, number], output)
    assert model.predict([np.array([["a"]], object), np.ones((1, 2))], verbose=0) == [[3.0]]
