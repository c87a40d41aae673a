"""A traced Keras layer over a sequence, and its training step."""

from functools import partial

import numpy as np

from harness import Case, Work

ROWS, STEPS, FEATURES, UNITS = 32, 50, 64, 64
X = np.random.default_rng(0).standard_normal((ROWS, STEPS, FEATURES)).astype(np.float32)
Y = np.random.default_rng(1).standard_normal((ROWS, UNITS)).astype(np.float32)


def _weights(gates: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(2)
    shapes = ((FEATURES, gates * UNITS), (UNITS, gates * UNITS), (gates * UNITS,))
    kernel, recurrent, bias = (random.standard_normal(shape) * 0.1 for shape in shapes)
    return kernel, recurrent, bias


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def expected_lstm() -> np.ndarray:
    """All outputs of the LSTM by the formula in float64; gates in Keras' order i, f, c, o."""
    kernel, recurrent, bias = _weights(4)
    h = c = np.zeros((ROWS, UNITS))
    found = []
    for step in range(STEPS):
        i, f, new, o = np.split(X[:, step] @ kernel + h @ recurrent + bias, 4, axis=-1)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(new)
        h = _sigmoid(o) * np.tanh(c)
        found.append(h)
    return np.stack(found, axis=1)


def forward_work(tf: object) -> Work:
    """The LSTM over all steps, its weights fixed."""
    layer = tf.keras.layers.LSTM(UNITS, return_sequences=True)
    given = tf.constant(X)
    layer(given)
    layer.set_weights([weight.astype(np.float32) for weight in _weights(4)])

    @tf.function
    def forward(x: object) -> object:
        return layer(x)

    def check() -> None:
        # float32 through fifty steps against float64.
        np.testing.assert_allclose(forward(given).numpy(), expected_lstm(), rtol=1e-3, atol=1e-4)

    return Work(run=lambda: forward(given), check=check)


def step_work(tf: object, kind: str) -> Work:
    """A step of gradient descent on the layer's last output, by a layer of this kind."""
    layer = getattr(tf.keras.layers, kind)(UNITS)
    x, y = tf.constant(X), tf.constant(Y)
    layer(x)
    gates = {"LSTM": 4, "GRU": 3, "SimpleRNN": 1}[kind]
    start = [weight.astype(np.float32) for weight in _weights(gates)]
    if kind == "GRU":
        start[2] = np.stack([start[2], start[2]])
    layer.set_weights(start)
    variables = layer.trainable_variables

    def loss_of() -> object:
        return tf.reduce_mean(tf.square(layer(x) - y))

    @tf.function
    def step(rate: object) -> object:
        with tf.GradientTape() as tape:
            loss = loss_of()
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign(variable - rate * gradient)
        return loss

    def check() -> None:
        # A small step changes the loss by the square of the gradient's length times its size.
        first = float(step(tf.constant(0.0)))
        with tf.GradientTape() as tape:
            loss = loss_of()
        gradients = tape.gradient(loss, variables)
        square = sum(float(tf.reduce_sum(tf.square(gradient))) for gradient in gradients)
        rate = 1e-3 / square
        step(tf.constant(rate))
        np.testing.assert_allclose(first - float(loss_of()), 1e-3, rtol=0.1)
        layer.set_weights(start)

    rate = tf.constant(1e-3)
    return Work(run=lambda: step(rate), check=check)


def _step_case(kind: str) -> Case:
    return Case(
        title=f"{kind} layer's training step, 32 rows, 50 steps",
        aims={"tensorflow": 1.0},
        work=partial(step_work, kind=kind),
    )


CASES = {
    "gru_layer_step": _step_case("GRU"),
    "lstm_layer": Case(
        title="LSTM layer, 32 rows, 50 steps, 64 units, traced",
        aims={"tensorflow": 1.0},
        work=forward_work,
    ),
    "lstm_layer_step": _step_case("LSTM"),
    "simple_rnn_layer_step": _step_case("SimpleRNN"),
}
