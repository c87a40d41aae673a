"""Training steps with Adam, traced, on one batch; `fit`; and jax's, jitted, with optax.

Sides are called for seven seconds first: on one batch gradients and Adam's moments shrink, until
they are denormal numbers.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from harness import Case, Work

_random = np.random.default_rng(0)
FIT_STEPS = 40
X = {
    "mlp": _random.random((128, 784)).astype(np.float32),
    "cnn": _random.random((64, 28, 28, 1)).astype(np.float32),
    "lstm": _random.random((32, 50, 32)).astype(np.float32),
}
SHAPES = {
    "mlp": ((784, 512), (512,), (512, 512), (512,), (512, 10), (10,)),
    "cnn": ((3, 3, 1, 32), (32,), (3, 3, 32, 64), (64,), (9216, 10), (10,)),
    "lstm": ((32, 256), (64, 256), (256,), (64, 10), (10,)),
}


def labels(kind: str) -> np.ndarray:
    """A class for each row."""
    return (np.arange(len(X[kind])) % 10).astype(np.int32)


def weights(kind: str) -> list[np.ndarray]:
    """Kernels that keep signals alive, and biases of zero."""
    random = np.random.default_rng(1)
    return [
        (random.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)
        if len(shape) > 1
        else np.zeros(shape, np.float32)
        for shape in SHAPES[kind]
    ]


def expected_loss(kind: str) -> float:
    """The mean cross entropy before any step, in float64."""
    p = [w.astype(np.float64) for w in weights(kind)]
    x = X[kind].astype(np.float64)
    if kind == "mlp":
        hidden = np.maximum(np.maximum(x @ p[0] + p[1], 0) @ p[2] + p[3], 0)
    elif kind == "cnn":
        y = _convolved(_convolved(x, p[0]), p[2])
        hidden = y.reshape(64, 12, 2, 12, 2, 64).max((2, 4)).reshape(64, -1)
    else:
        hidden = state = np.zeros((len(x), 64))
        for step in range(x.shape[1]):
            i, f, new, o = np.split(x[:, step] @ p[0] + hidden @ p[1] + p[2], 4, axis=-1)
            state = _sigmoid(f) * state + _sigmoid(i) * np.tanh(new)
            hidden = _sigmoid(o) * np.tanh(state)
    logits = hidden @ p[-2] + p[-1]
    logits -= logits.max(-1, keepdims=True)
    chosen = logits[np.arange(len(x)), labels(kind)]
    return float(np.mean(np.log(np.exp(logits).sum(-1)) - chosen))


def _convolved(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
    return np.maximum(np.einsum("nhwcij,ijco->nhwo", windows, kernel, optimize=True), 0)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def checked(kind: str, step: Callable[[], Any]) -> Callable[[], None]:
    """The first loss is the formula's, and it falls."""

    def check() -> None:
        first = float(step())
        # float32 sums against float64.
        np.testing.assert_allclose(first, expected_loss(kind), rtol=1e-4)
        for _ in range(20):
            last = float(step())
        assert last < first, (first, last)

    return check


def build(tf: Any, kind: str) -> Any:
    """The model, its weights set."""
    layers = tf.keras.layers
    middle = {
        "mlp": lambda: [layers.Dense(512, activation="relu") for _ in range(2)],
        "cnn": lambda: [
            *(layers.Conv2D(width, 3, activation="relu") for width in (32, 64)),
            *(layers.MaxPooling2D(2), layers.Flatten()),
        ],
        "lstm": lambda: [layers.LSTM(64, unit_forget_bias=False)],
    }[kind]()
    start = tf.keras.Input(X[kind].shape[1:])
    model = tf.keras.Sequential([start, *middle, layers.Dense(10)])
    model.set_weights(weights(kind))
    return model


def step_work(tf: Any, kind: str) -> Work:
    """The step as guides write it, traced."""
    model = build(tf, kind)
    optimizer = tf.keras.optimizers.Adam(1e-3)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    x, y = tf.constant(X[kind]), tf.constant(labels(kind))

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return Work(run=lambda: step(x, y), check=checked(kind, lambda: step(x, y)))


def fit_work(tf: Any) -> Work:
    """`fit` over forty batches."""
    model = build(tf, "mlp")
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=tf.keras.optimizers.Adam(1e-3), loss=loss)
    x, y = (np.concatenate([part] * FIT_STEPS) for part in (X["mlp"], labels("mlp")))

    def fit() -> Any:
        return model.fit(x, y, batch_size=128, epochs=1, verbose=0).history["loss"][0]

    def check() -> None:
        first = float(model.evaluate(X["mlp"], labels("mlp"), verbose=0))
        np.testing.assert_allclose(first, expected_loss("mlp"), rtol=1e-4)
        assert float(fit()) < first

    return Work(run=fit, check=check)


def jax_step(jax: Any, kind: str) -> tuple[Callable[[Any, Any, Any], Any], Any]:
    """A jitted step, and the parameters and the optimizer's state it begins with."""
    import optax

    jnp, nn = jax.numpy, jax.nn
    optimizer = optax.adam(1e-3)

    def logits_of(p: Any, x: Any) -> Any:
        if kind == "mlp":
            hidden = nn.relu(nn.relu(x @ p[0] + p[1]) @ p[2] + p[3])
        else:

            def cell(state: Any, given: Any) -> Any:
                h, c = state
                i, f, new, o = jnp.split(given @ p[0] + h @ p[1] + p[2], 4, -1)
                c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(new)
                return (nn.sigmoid(o) * jnp.tanh(c), c), None

            zeros = jnp.zeros((len(x), 64))
            (hidden, _), _ = jax.lax.scan(cell, (zeros, zeros), jnp.swapaxes(x, 0, 1))
        return hidden @ p[-2] + p[-1]

    def loss_of(p: Any, x: Any, y: Any) -> Any:
        return optax.softmax_cross_entropy_with_integer_labels(logits_of(p, x), y).mean()

    @jax.jit
    def step(state: Any, x: Any, y: Any) -> Any:
        parameters, moments = state
        loss, gradients = jax.value_and_grad(loss_of)(parameters, x, y)
        updates, moments = optimizer.update(gradients, moments)
        return (optax.apply_updates(parameters, updates), moments), loss

    parameters = [jnp.asarray(w) for w in weights(kind)]
    return step, (parameters, optimizer.init(parameters))


def jax_work(jax: Any, kind: str) -> Work:
    """The same step by jax."""
    step, state = jax_step(jax, kind)
    x, y = jax.numpy.asarray(X[kind]), jax.numpy.asarray(labels(kind))

    def run() -> Any:
        nonlocal state
        state, loss = step(state, x, y)
        jax.block_until_ready(state)
        return loss

    return Work(run=run, check=checked(kind, run))


def jax_fit_work(jax: Any) -> Work:
    """A loop over forty batches of NumPy's arrays."""
    step, state = jax_step(jax, "mlp")
    x, y = (np.concatenate([part] * FIT_STEPS) for part in (X["mlp"], labels("mlp")))

    def fit() -> Any:
        nonlocal state
        losses = []
        for start in range(0, len(x), 128):
            state, loss = step(state, x[start : start + 128], y[start : start + 128])
            losses.append(loss)
        jax.block_until_ready(state)
        return losses

    def check() -> None:
        losses = [float(loss) for loss in fit()]
        np.testing.assert_allclose(losses[0], expected_loss("mlp"), rtol=1e-4)
        assert losses[-1] < losses[0]

    return Work(run=fit, check=check)


_case = partial(Case, warm_up_s=7.0)
CASES = {
    "cnn_step": _case(
        title="CNN training step, 64 images, Adam",
        aims={"tensorflow": 0.7},
        sample_s=0.05,
        repeats=5,
        work=partial(step_work, kind="cnn"),
    ),
    "lstm_step": _case(
        title="LSTM(64) training step, 50 steps, 32 rows, Adam",
        aims={"tensorflow": 0.25, "jax": 0.6},
        work=partial(step_work, kind="lstm"),
        variants={"jax": partial(jax_work, kind="lstm")},
    ),
    "mlp_fit": _case(
        title="MLP 784-512-512-10, fit, 40 steps of 128 rows",
        aims={"tensorflow": 0.25, "jax": 0.8},
        sample_s=0.1,
        repeats=3,
        work=fit_work,
        variants={"jax": jax_fit_work},
    ),
    "mlp_step": _case(
        title="MLP 784-512-512-10 training step, 128 rows, Adam",
        aims={"tensorflow": 0.6, "jax": 0.8},
        work=partial(step_work, kind="mlp"),
        variants={"jax": partial(jax_work, kind="mlp")},
    ),
}
