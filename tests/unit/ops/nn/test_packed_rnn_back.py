"""Gradients of CudnnRNN equal those of Keras' layers, which run step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf

raw: Any = tf.raw_ops
STEPS, BATCH, INPUTS, UNITS = 5, 3, 4, 2


def packed(layer: Any, mode: str) -> Any:
    """Keras' weights in the library's order: i, f, c, o stay, z, r, n become r, z, n."""
    gates = 4 if mode == "lstm" else 3
    kernel, recurrent, bias = layer.cell.kernel, layer.cell.recurrent_kernel, layer.cell.bias
    order = range(4) if mode == "lstm" else (1, 0, 2)
    cut = [tf.split(one, gates, axis=-1) for one in (kernel, recurrent)]
    matrices = [tf.transpose(part[gate]) for part in cut for gate in order]
    biases = [bias, tf.zeros_like(bias)] if mode == "lstm" else [bias[0], bias[1]]
    rows = [tf.split(one, gates)[gate] for one in biases for gate in order]
    return tf.concat([tf.reshape(one, [-1]) for one in (*matrices, *rows)], 0)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_gradients_are_those_of_the_layer(mode: str, traced: bool) -> None:
    tf.keras.utils.set_random_seed(3)
    kind = tf.keras.layers.LSTM if mode == "lstm" else tf.keras.layers.GRU
    layer = kind(UNITS, return_sequences=True, dtype="float64", bias_initializer="glorot_uniform")
    x = tf.constant(np.random.default_rng(1).standard_normal((BATCH, STEPS, INPUTS)))
    layer(x)
    weights = layer.trainable_weights
    nothing = tf.zeros([1, BATCH, UNITS], tf.float64)

    def by_op(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            out = raw.CudnnRNNV3(
                input=x,
                input_h=tf.transpose(nothing, [1, 0, 2]),
                input_c=tf.transpose(nothing, [1, 0, 2]),
                params=packed(layer, mode),
                sequence_lengths=[STEPS] * BATCH,
                rnn_mode=mode,
                time_major=False,
            )[0]
            loss = tf.reduce_sum(out * out * tf.range(1.0, 1.0 + UNITS, dtype=tf.float64))
        return tape.gradient(loss, [x, *weights])

    with tf.GradientTape() as tape:
        tape.watch(x)
        out = layer(x)
        loss = tf.reduce_sum(out * out * tf.range(1.0, 1.0 + UNITS, dtype=tf.float64))
    wanted = tape.gradient(loss, [x, *weights])
    found = (tf.function(by_op) if traced else by_op)(x)
    assert float(tf.reduce_max(tf.abs(wanted[0]))) > 1e-3
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12)


def test_what_flows_back_must_fit() -> None:
    state = tf.zeros([1, BATCH, UNITS])
    size = 4 * UNITS * (INPUTS + UNITS + 2)
    shared = {
        "input": tf.zeros([STEPS, BATCH, INPUTS]),
        "input_h": state,
        "input_c": state,
        "params": tf.zeros([size]),
        "output": tf.zeros([STEPS, BATCH, UNITS]),
        "output_h": state,
        "output_c": state,
        "output_h_backprop": state,
        "output_c_backprop": state,
        "reserve_space": tf.zeros([0]),
    }
    with pytest.raises(tf.errors.InvalidArgumentError, match="output_backprop must have shape"):
        raw.CudnnRNNBackprop(output_backprop=tf.zeros([STEPS, BATCH, 7]), **shared)
    with pytest.raises(tf.errors.UnimplementedError, match="dropout between layers"):
        raw.CudnnRNNBackprop(output_backprop=tf.zeros([STEPS, BATCH, UNITS]), dropout=0.5, **shared)
