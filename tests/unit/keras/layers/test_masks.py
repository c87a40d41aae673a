"""Masks: created, propagated, used by layers, losses and metrics."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace import keras
from pinnace.keras import layers

WORDS = np.array([[3, 1, 2, 0, 0], [4, 0, 2, 0, 0]], np.int32)
COUNTS = WORDS != 0


def test_an_embedding_makes_a_mask_and_layers_hand_it_on() -> None:
    x = layers.Embedding(5, 3, mask_zero=True)(WORDS)
    np.testing.assert_array_equal(x._keras_mask, COUNTS)
    for layer in (
        layers.Dropout(0.5),
        layers.Dense(2),
        layers.LayerNormalization(),
        layers.BatchNormalization(),
        layers.Activation("relu"),
        layers.PReLU(),
        layers.TimeDistributed(layers.Dense(2)),
        layers.LSTM(2, return_sequences=True),
        layers.Bidirectional(layers.GRU(2, return_sequences=True)),
        layers.GaussianNoise(0.1),
    ):
        np.testing.assert_array_equal(layer(x)._keras_mask, COUNTS, err_msg=layer.name)
    assert not hasattr(layers.LSTM(2)(x), "_keras_mask")
    assert not hasattr(layers.Embedding(5, 3)(WORDS), "_keras_mask")


def test_masking() -> None:
    x = np.ones((2, 4, 3), np.float32)
    x[0, 1:3] = -1.0
    x[1, 0, 0] = -1.0
    y = layers.Masking(-1.0)(x)
    wanted = np.array([[True, False, False, True], [True, True, True, True]])
    np.testing.assert_array_equal(y._keras_mask, wanted)
    np.testing.assert_array_equal(y, x * wanted[..., None])
    np.testing.assert_array_equal(layers.Masking(-1.0).compute_mask(tf.constant(x)), wanted)


def test_a_layer_that_knows_nothing_of_masks_says_so() -> None:
    x = layers.Embedding(5, 3, mask_zero=True)(WORDS)
    with pytest.warns(UserWarning, match="does not support masks"):
        assert not hasattr(layers.Conv1D(2, 2)(x), "_keras_mask")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layers.Conv1D(2, 2)(tf.constant(x.numpy()))


class Halving(layers.Layer):
    """Every other step, and the mask of those."""

    def call(self, x: Any) -> Any:
        return x[:, ::2]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:  # noqa: ARG002 (Keras names it)
        return None if mask is None else mask[:, ::2]


class Summing(layers.Layer):
    """A layer that takes the mask as an argument."""

    def call(self, inputs: Any, mask: Any = None) -> Any:
        counts = tf.cast(tf.expand_dims(mask, -1), inputs.dtype)
        return tf.reduce_sum(inputs * counts, 1)


def test_layers_of_users() -> None:
    table = layers.Embedding(5, 3, mask_zero=True)
    x = table(WORDS)
    y = Halving()(x)
    np.testing.assert_array_equal(y._keras_mask, COUNTS[:, ::2])
    wanted = (x.numpy() * COUNTS[..., None])[:, ::2].sum(1)
    np.testing.assert_allclose(Summing()(y), wanted, rtol=1e-6)

    class Model(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.steps = [table, Halving(), Summing()]

        def call(self, x: Any) -> Any:
            for layer in self.steps:
                x = layer(x)
            return x

    sequential = keras.Sequential([keras.Input((5,), dtype="int32"), table, Halving(), Summing()])
    words = keras.Input((5,), dtype="int32")
    functional = keras.Model(words, Summing()(Halving()(table(words))))
    for model in (Model(), sequential, functional):
        np.testing.assert_allclose(model(WORDS), wanted, rtol=1e-6)
        np.testing.assert_allclose(tf.function(model)(tf.constant(WORDS)), wanted, rtol=1e-6)
        np.testing.assert_allclose(model.predict(WORDS, verbose=0), wanted, rtol=1e-6)


def test_masks_of_layers_that_join() -> None:
    x = layers.Embedding(5, 3, mask_zero=True)(WORDS)
    other = layers.Embedding(5, 3, mask_zero=True)(WORDS[:, ::-1].copy())
    plain = tf.ones((2, 5, 3))
    either = COUNTS | COUNTS[:, ::-1]
    np.testing.assert_array_equal(layers.Add()([x, other])._keras_mask, either)
    assert not hasattr(layers.Multiply()([x, plain]), "_keras_mask")
    longer = layers.Concatenate(axis=1)([x, other, plain])
    wanted = np.concatenate([COUNTS, COUNTS[:, ::-1], np.ones((2, 5), bool)], 1)
    np.testing.assert_array_equal(longer._keras_mask, wanted)
    assert not hasattr(layers.Dot((2, 2))([x, other]), "_keras_mask")
    doubled = layers.Lambda(lambda x: x * 2, mask=lambda _, mask: ~mask)(x)
    np.testing.assert_array_equal(doubled._keras_mask, ~COUNTS)


def test_attention_sees_the_masks_that_tensors_carry() -> None:
    x = layers.Embedding(5, 4, mask_zero=True)(WORDS)
    heads = layers.MultiHeadAttention(2, 3)
    y, scores = heads(x, x, return_attention_scores=True)
    np.testing.assert_array_equal(y._keras_mask, COUNTS)
    # A valid word attends only to valid words.
    seen = np.where(COUNTS[:, None, :, None], scores.numpy().transpose(0, 1, 2, 3), 0)
    assert (seen[~np.broadcast_to(COUNTS[:, None, None, :], seen.shape)] == 0).all()
    # Keras: a masked word attends to no word.
    sums = np.broadcast_to(COUNTS[:, None, :], scores.shape[:-1])
    np.testing.assert_allclose(scores.numpy().sum(-1), sums, rtol=1e-6)
    together = layers.Attention()([x, x])
    np.testing.assert_array_equal(together._keras_mask, COUNTS)
    assert (together.numpy()[~COUNTS] == 0).all()


def test_a_cast_keeps_the_mask() -> None:
    x = layers.Masking()(tf.constant(np.eye(3)[None], tf.float32))
    wide = layers.Dense(2, dtype="float64")(x)
    np.testing.assert_array_equal(wide._keras_mask, [[True, True, True]])


@settings(max_examples=30, deadline=None)
@given(
    counts=st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=5),
    seed=st.integers(0, 2**16),
    weighted=st.booleans(),
)
def test_losses_and_metrics_skip_what_does_not_count(
    counts: list[list[bool]], seed: int, weighted: bool
) -> None:
    mask = np.array(counts)
    generator = np.random.default_rng(seed)
    y, p = generator.standard_normal((2, *mask.shape, 2)).astype(np.float32)
    weight = generator.uniform(0.5, 2, mask.shape).astype(np.float32) if weighted else None
    predicted = tf.constant(p)
    predicted._keras_mask = tf.constant(mask)
    values = ((y - p) ** 2).mean(-1)
    factors = mask * (1 if weight is None else weight)
    total, number = (values * factors).sum(), mask.sum()
    loss = keras.losses.MeanSquaredError()(y, predicted, weight)
    np.testing.assert_allclose(loss, total / number if number else 0, rtol=1e-4, atol=1e-6)
    summed = keras.losses.MeanSquaredError(reduction="sum")(y, predicted, weight)
    np.testing.assert_allclose(summed, total, rtol=1e-4, atol=1e-6)
    metric = keras.metrics.MeanSquaredError()
    metric.update_state(y, predicted, weight)
    size = factors.mean(1).sum()
    mean = (values * factors).mean(1).sum() / size if size else 0
    np.testing.assert_allclose(metric.result(), mean, rtol=1e-4, atol=1e-6)


def test_a_mask_that_is_given_wins() -> None:
    x = layers.Embedding(5, 3, mask_zero=True)(WORDS)
    every = tf.ones((2, 5), tf.bool)
    layer = layers.GRU(2)
    np.testing.assert_array_equal(layer(x, mask=every), layer(tf.constant(x.numpy())))
    # As in Keras 3, masks are not propagated if several arguments have tensors.
    start = tf.zeros((2, 2))
    np.testing.assert_array_equal(layer(x, initial_state=[start]), layer(tf.constant(x.numpy())))
    np.testing.assert_allclose(
        layer(x, initial_state=[start], mask=tf.constant(COUNTS)), layer(x), rtol=1e-6
    )
