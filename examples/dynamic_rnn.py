"""DynamicRNN: a recurrence unrolled by a `for` over a range of tensors, into a TensorArray.

    python examples/dynamic_rnn.py

It learns to add: a sequence of pairs (value, marked or not), the target is the sum of the marked
ones so far. The same numbers come from `tf.keras.layers.RNN`.
"""

from __future__ import annotations

import argparse

import numpy as np

import pinnace as tf


class DynamicRNN(tf.keras.Model):
    """Outputs [batch, time, units] and the last state of a cell."""

    def __init__(self, rnn_cell):
        super(DynamicRNN, self).__init__(self)  # noqa: UP008 (as published)
        self.cell = rnn_cell

    def call(self, input_data):
        # [batch, time, features] -> [time, batch, features]
        input_data = tf.transpose(input_data, [1, 0, 2])
        outputs = tf.TensorArray(tf.float32, input_data.shape[0])
        state = self.cell.zero_state(input_data.shape[1], dtype=tf.float32)
        for i in tf.range(input_data.shape[0]):
            output, state = self.cell(input_data[i], state)
            outputs = outputs.write(i, output)
        return tf.transpose(outputs.stack(), [1, 0, 2]), state


def sequences(count, length, seed):
    """Inputs [count, length, 2] and the running sums [count, length, 1]."""
    random = np.random.default_rng(seed)
    values = random.random((count, length, 1), dtype=np.float32)
    marks = (random.random((count, length, 1)) < 0.3).astype(np.float32)
    return np.concatenate([values, marks], 2), np.cumsum(values * marks, 1) / length


def main(steps=200):
    tf.keras.utils.set_random_seed(0)
    cell = tf.keras.layers.LSTMCell(16)
    rnn = DynamicRNN(cell)
    read_out = tf.keras.layers.Dense(1)
    optimizer = tf.keras.optimizers.Adam(0.01)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            outputs, _ = rnn(x)
            loss = tf.reduce_mean(tf.square(read_out(outputs) - y))
        variables = rnn.trainable_variables + read_out.trainable_variables
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables))
        return loss

    x, y = sequences(64, 12, 0)
    first = last = float(train_step(x, y))
    for step in range(1, steps):
        last = float(train_step(*sequences(64, 12, step)))
        if step % 50 == 0:
            print(f"step {step}: loss {last:.5f}")
    print(f"loss {first:.5f} at first, {last:.5f} at last")

    outputs, state = rnn(tf.constant(x))
    same_cell = tf.keras.layers.RNN(cell, return_sequences=True, return_state=True)
    expected, *expected_state = same_cell(tf.constant(x))
    gap = float(tf.reduce_max(tf.abs(outputs - expected)))
    for a, b in zip(state, expected_state, strict=True):
        gap = max(gap, float(tf.reduce_max(tf.abs(a - b))))
    print(f"largest difference from tf.keras.layers.RNN: {gap:.1e}")
    return first, last, gap


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    main(parser.parse_args().steps)
