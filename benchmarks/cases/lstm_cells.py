"""An LSTM cell written with ops, weights fixed: ten calls of it, and a dynamic RNN."""

from collections.abc import Callable
from functools import partial

import numpy as np

from harness import Case, Work

STEPS = 10


def weights(features: int, units: int) -> list[np.ndarray]:
    """Kernel [features, 4 * units], recurrent kernel, bias; gates in Keras' order i, f, c, o."""
    random = np.random.default_rng(0)
    shapes = ((features, 4 * units), (units, 4 * units), (4 * units,))
    return [(random.standard_normal(shape) * 0.3).astype(np.float32) for shape in shapes]


def numbers(*shape: int) -> np.ndarray:
    """Normal numbers, float32."""
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def cell_of(tf: object, features: int, units: int) -> Callable:
    """`cell(x, (h, c))` gives `(h, c)` of the next step."""
    kernel, recurrent, bias = (tf.Variable(w) for w in weights(features, units))

    def cell(x: object, state: tuple) -> tuple:
        h, c = state
        z = tf.nn.bias_add(tf.matmul(x, kernel) + tf.matmul(h, recurrent), bias)
        i, f, new, o = tf.split(z, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(new)
        return tf.sigmoid(o) * tf.tanh(c), c

    return cell


def expected(xs: list[np.ndarray], units: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(h, c) after each of these inputs, by the formula in float64."""
    kernel, recurrent, bias = (w.astype(np.float64) for w in weights(xs[0].shape[1], units))
    h = c = np.zeros((len(xs[0]), units))
    found = []
    for x in xs:
        i, f, new, o = np.split(x @ kernel + h @ recurrent + bias, 4, axis=-1)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(new)
        h = _sigmoid(o) * np.tanh(c)
        found.append((h, c))
    return found


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def cell_work(tf: object, *, rows: int, units: int, traced: bool) -> Work:
    """Ten calls of the cell on the same rows, each with the state the one before left."""
    x = numbers(rows, units)
    given, zeros = tf.constant(x), tf.zeros((rows, units))
    cell = cell_of(tf, units, units)
    call = tf.function(cell) if traced else cell

    def run() -> tuple:
        state = (zeros, zeros)
        for _ in range(STEPS):
            state = call(given, state)
        return state

    return Work(run=run, check=partial(_check, run, x))


def layer_work(tf: object) -> Work:
    """Ten calls of Keras' LSTMCell(10), traced, each with the state the one before left."""
    x = numbers(10, 10)
    given, zeros = tf.constant(x), tf.zeros((10, 10))
    cell = tf.keras.layers.LSTMCell(10, unit_forget_bias=False)
    cell(given, [zeros, zeros])
    cell.set_weights(weights(10, 10))

    @tf.function
    def call(x: object, state: list) -> object:
        return cell(x, state)

    def run() -> list:
        state = [zeros, zeros]
        for _ in range(STEPS):
            _, state = call(given, state)
        return state

    return Work(run=run, check=partial(_check, run, x))


def jax_work(jax: object) -> Work:
    """Ten calls of a jitted cell."""
    kernel, recurrent, bias = (jax.numpy.asarray(w) for w in weights(10, 10))
    x = numbers(10, 10)
    given, zeros = jax.numpy.asarray(x), jax.numpy.zeros((10, 10))
    sigmoid, tanh = jax.nn.sigmoid, jax.numpy.tanh

    @jax.jit
    def call(x: object, state: tuple) -> tuple:
        h, c = state
        i, f, new, o = jax.numpy.split(x @ kernel + h @ recurrent + bias, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * tanh(new)
        return sigmoid(o) * tanh(c), c

    def run() -> tuple:
        state = (zeros, zeros)
        for _ in range(STEPS):
            state = call(given, state)
        return jax.block_until_ready(state)

    return Work(run=run, check=partial(_check, run, x))


def _check(run: Callable, x: np.ndarray) -> None:
    # float32 through ten steps against float64.
    units = x.shape[1]
    for found, wanted in zip(run(), expected([x] * STEPS, units)[-1], strict=True):
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-4, atol=1e-5)


def dynamic_work(tf: object, *, rows: int, steps: int, units: int) -> Work:
    """The dynamic RNN of "Effective TensorFlow 2", traced: AutoGraph's loop over a TensorArray."""
    data = numbers(rows, steps, units)
    given = tf.constant(data)
    cell = cell_of(tf, units, units)

    @tf.function
    def dynamic_rnn(sequences: object) -> tuple:
        # [batch, time, features] -> [time, batch, features]
        inputs = tf.transpose(sequences, [1, 0, 2])
        outputs = tf.TensorArray(tf.float32, inputs.shape[0])
        state = (tf.zeros((rows, units)), tf.zeros((rows, units)))
        for i in tf.range(inputs.shape[0]):
            state = cell(inputs[i], state)
            outputs = outputs.write(i, state[0])
        return tf.transpose(outputs.stack(), [1, 0, 2]), state

    def check() -> None:
        found, (_, c) = dynamic_rnn(given)
        wanted = expected([data[:, step] for step in range(steps)], units)
        # float32 through all steps against float64.
        hidden = np.stack([h for h, _ in wanted], axis=1)
        np.testing.assert_allclose(found.numpy(), hidden, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(c.numpy(), wanted[-1][1], rtol=1e-3, atol=1e-4)

    return Work(run=lambda: dynamic_rnn(given), check=check)


CASES = {
    "dynamic_rnn": Case(
        title="dynamic RNN, 50 steps, 32 rows, 64 units",
        aims={"tensorflow": 1.0},
        work=partial(dynamic_work, rows=32, steps=50, units=64),
    ),
    # The guide's example of what tracing wins.
    "lstm_cell": Case(
        title="LSTM cell, 10 steps of 10 rows, traced",
        aims={"tensorflow": 1.0, "pinnace_eager": 1.0},
        work=partial(cell_work, rows=10, units=10, traced=True),
        variants={"pinnace_eager": partial(cell_work, rows=10, units=10, traced=False)},
    ),
    # Of the guide, too: what `tf.function` makes of a layer.
    "lstm_cell_layer": Case(
        title="LSTMCell(10) × 10, 10 rows, traced",
        aims={"tensorflow": 0.02, "jax": 0.2},
        work=layer_work,
        variants={"jax": jax_work},
    ),
    "lstm_cell_64": Case(
        title="LSTM cell, 10 steps of 64 rows and units, traced",
        aims={"tensorflow": 1.0},
        work=partial(cell_work, rows=64, units=64, traced=True),
    ),
    "lstm_cell_eager": Case(
        title="LSTM cell, 10 steps of 10 rows, eagerly",
        aims={"tensorflow": 1.0},
        work=partial(cell_work, rows=10, units=10, traced=False),
    ),
}
