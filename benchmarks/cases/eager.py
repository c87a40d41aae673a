"""Eager calls: an addition, which is nothing but dispatch, and the gradients of a perceptron."""

from collections.abc import Callable
from functools import partial

import numpy as np

from harness import Case, Work

SMALL = np.array([[1, 2], [3, 4]], np.float32)
# 32 rows, 32-64-64-10, relu, mean of squares.
_random = np.random.default_rng(0)
X = _random.standard_normal((32, 32)).astype(np.float32)
WEIGHTS = [
    (_random.standard_normal(s) * 0.1).astype(np.float32) for s in ((32, 64), (64, 64), (64, 10))
]
BIASES = [np.zeros(n, np.float32) for n in (64, 64, 10)]


def expected() -> list[np.ndarray]:
    """The gradients of the weights, by hand, in float64."""
    h0 = X.astype(np.float64)
    z1 = h0 @ WEIGHTS[0] + BIASES[0]
    h1 = np.maximum(z1, 0)
    z2 = h1 @ WEIGHTS[1] + BIASES[1]
    h2 = np.maximum(z2, 0)
    y = h2 @ WEIGHTS[2] + BIASES[2]
    dy = 2 * y / y.size
    d2 = (dy @ WEIGHTS[2].T) * (z2 > 0)
    d1 = (d2 @ WEIGHTS[1].T) * (z1 > 0)
    return [h0.T @ d1, h1.T @ d2, h2.T @ dy]


def add_work(tf: object) -> Work:
    """x + x of a 2x2 tensor."""
    x = tf.constant(SMALL)
    return Work(
        run=lambda: x + x,
        check=lambda: np.testing.assert_array_equal((x + x).numpy(), SMALL + SMALL),
    )


def gradient_work(tf: object) -> Work:
    """Loss and gradients of the perceptron."""
    x = tf.constant(X)
    weights = [tf.Variable(w) for w in WEIGHTS]
    biases = [tf.Variable(b) for b in BIASES]

    def step() -> list:
        with tf.GradientTape() as tape:
            h = tf.nn.relu(tf.matmul(x, weights[0]) + biases[0])
            h = tf.nn.relu(tf.matmul(h, weights[1]) + biases[1])
            y = tf.matmul(h, weights[2]) + biases[2]
            loss = tf.reduce_mean(tf.square(y))
        return tape.gradient(loss, weights + biases)

    return Work(run=step, check=partial(check_gradients, step))


def check_gradients(step: Callable[[], list]) -> None:
    """The weights' gradients, which come first, are those of the formula."""
    # float32 sums of 32 to 64 products: a few units in the last place of the largest.
    for found, wanted in zip(step(), expected(), strict=False):
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-4, atol=1e-6)


def jax_gradient_work(jax: object) -> Work:
    """The same loss's gradients, jitted."""
    jnp = jax.numpy

    def loss_of(weights: list, biases: list, x: object) -> object:
        h = jax.nn.relu(x @ weights[0] + biases[0])
        h = jax.nn.relu(h @ weights[1] + biases[1])
        return jnp.mean(jnp.square(h @ weights[2] + biases[2]))

    gradients = jax.jit(jax.grad(loss_of, argnums=(0, 1)))
    x = jnp.asarray(X)
    weights, biases = ([jnp.asarray(p) for p in parts] for parts in (WEIGHTS, BIASES))

    def step() -> list:
        by_weights, by_biases = jax.block_until_ready(gradients(weights, biases, x))
        return [*by_weights, *by_biases]

    return Work(run=step, check=partial(check_gradients, step))


def matmul_work(tf: object) -> Work:
    """x @ x of 64x64."""
    x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    given = tf.constant(x)
    # float32 sums of 64 products.
    return Work(
        run=lambda: tf.matmul(given, given),
        check=lambda: np.testing.assert_allclose(
            tf.matmul(given, given).numpy(), x.astype(np.float64) @ x, rtol=1e-4, atol=1e-4
        ),
    )


CASES = {
    "eager_add": Case(title="eager add, 2×2", aims={"tensorflow": 0.1}, work=add_work),
    "eager_matmul": Case(title="eager matmul, 64×64", aims={}, work=matmul_work),
    "mlp_gradient": Case(
        title="eager MLP gradient, 32 rows",
        aims={"tensorflow": 0.06, "jax": 1.2},
        work=gradient_work,
        variants={"jax": jax_gradient_work},
    ),
}
