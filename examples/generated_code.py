"""What AutoGraph makes of Python: a loop over a tensor, and a function that is called.

python examples/generated_code.py
"""

from __future__ import annotations

import timeit

import pinnace as tf


@tf.function
def sum_even(items):
    s = 0
    for c in items:
        if c % 2 > 0:
            continue
        s += c
    return s


def linear_layer(x):
    return 2 * x + 1


@tf.function
def deep_net(x):
    return tf.nn.relu(linear_layer(x))


@tf.function
def simple_nn_layer(x, y):
    return tf.nn.relu(tf.matmul(x, y))


v = tf.Variable(1.0)


@tf.function
def f():
    v.assign(2.0)
    return v.read_value()


def cells():
    """Seconds of ten calls of an LSTM cell, eagerly and as a function."""
    lstm_cell = tf.keras.layers.LSTMCell(10)

    @tf.function
    def lstm_fn(input, state):
        return lstm_cell(input, state)

    input = tf.zeros([10, 10])
    state = [tf.zeros([10, 10])] * 2
    # warm up
    lstm_cell(input, state)
    lstm_fn(input, state)
    eager = timeit.timeit(lambda: lstm_cell(input, state), number=10)
    return eager, timeit.timeit(lambda: lstm_fn(input, state), number=10)


def main():
    print("deep_net:", deep_net)
    print(deep_net(tf.constant((1, 2, 3))))
    print("sum_even:", sum_even(tf.constant([10, 12, 15, 20])))
    print("an assignment, then a read:", f())
    print("the products of random matrices, rectified:")
    print(simple_nn_layer(tf.random.uniform((3, 3)), tf.random.uniform((3, 3))))
    eager, traced = cells()
    print(f"eager lstm: {eager:.4f} s\nfunction lstm: {traced:.4f} s")
    print()
    print(tf.autograph.to_code(sum_even.python_function))
    print(tf.autograph.to_code(deep_net.python_function))


if __name__ == "__main__":
    main()
