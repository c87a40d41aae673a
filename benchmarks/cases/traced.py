"""Traced functions: next to nothing, loops over scalars, a chain of elementwise ops, a layer."""

from collections.abc import Callable
from functools import partial

import numpy as np

from harness import Case, Work

X = np.array([[1, 2], [3, 4]], np.float32)
STEPS = 10_000
COLLATZ = 75_128_138_247  # 1228 steps
MILLION = np.random.default_rng(0).random(1_000_000).astype(np.float32)


def iterate(x: object, steps: object) -> object:
    """Newton's iteration for the root of x; it converges at once and stays there."""
    y = x
    i = 0 * steps
    while i < steps:
        y = 0.5 * (y + x / y)
        i = i + 1
    return y


def loop_work(tf: object, *, traced: bool, xla: bool = False) -> Work:
    """Newton's iteration by AutoGraph, or as Python runs it: four ops and a comparison a step."""
    x, steps = tf.constant(2.0), tf.constant(STEPS)
    run = tf.function(iterate, jit_compile=xla) if traced else iterate
    return Work(run=lambda: run(x, steps), check=lambda: check_root(run(x, steps)))


def check_root(found: object) -> None:
    """The square root of 2, to the last place but one: where the iteration comes to rest."""
    np.testing.assert_allclose(np.asarray(found), np.sqrt(np.float32(2)), rtol=2e-7)


def jax_loop_work(jax: object) -> Work:
    """The same iteration by `while_loop`."""

    @jax.jit
    def iterate(x: object, steps: object) -> object:
        def step(state: tuple) -> tuple:
            i, y = state
            return i + 1, 0.5 * (y + x / y)

        return jax.lax.while_loop(lambda state: state[0] < steps, step, (0, x))[1]

    x, steps = jax.numpy.float32(2), jax.numpy.int32(STEPS)
    return Work(
        run=lambda: jax.block_until_ready(iterate(x, steps)),
        check=lambda: check_root(iterate(x, steps)),
    )


def collatz(n: object) -> object:
    """Steps until 1 is reached."""
    count = 0 * n
    while n != 1:
        if n % 2 == 0:  # noqa: SIM108 - AutoGraph makes a branch of it, which is the subject
            n = n // 2
        else:
            n = 3 * n + 1
        count = count + 1
    return count


def check_collatz(found: object) -> None:
    """As Python counts."""
    np.testing.assert_array_equal(np.asarray(found), collatz(COLLATZ))


def collatz_work(tf: object, *, xla: bool = False) -> Work:
    """A loop with a branch, by AutoGraph."""
    run, n = tf.function(collatz, jit_compile=xla), tf.constant(COLLATZ, tf.int64)
    return Work(run=lambda: run(n), check=lambda: check_collatz(run(n)))


def jax_collatz_work(jax: object) -> Work:
    """The same by `while_loop` and `cond`, with 64 bits."""
    jax.config.update("jax_enable_x64", True)

    @jax.jit
    def run(n: object) -> object:
        def step(state: tuple) -> tuple:
            n, count = state
            return jax.lax.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n), count + 1

        return jax.lax.while_loop(lambda state: state[0] != 1, step, (n, 0 * n))[1]

    n = jax.numpy.int64(COLLATZ)
    return Work(run=lambda: jax.block_until_ready(run(n)), check=lambda: check_collatz(run(n)))


def chain(ops: object, x: object, maximum: Callable) -> object:
    """Ten elementwise ops; `ops` has their functions."""
    y = ops.sqrt(x * 2.0 + 1.0)
    y = ops.tanh(y - x)
    y = ops.exp(-(y * y))
    return maximum(y, 0.5) / (x + 1.0)


def chain_work(tf: object, *, traced: bool = True, xla: bool = False) -> Work:
    """The chain over a million floats."""
    x = tf.constant(MILLION)

    def of(x: object) -> object:
        return chain(tf, x, tf.maximum)

    run = tf.function(of, jit_compile=xla) if traced else of
    return Work(run=lambda: run(x), check=lambda: check_chain(run(x)))


def jax_chain_work(jax: object) -> Work:
    """The chain, jitted."""
    jnp = jax.numpy
    run, x = jax.jit(lambda x: chain(jnp, x, jnp.maximum)), jnp.asarray(MILLION)
    return Work(run=lambda: jax.block_until_ready(run(x)), check=lambda: check_chain(run(x)))


def check_chain(found: object) -> None:
    """The chain in float64: a few units in the last place."""
    wanted = chain(np, MILLION.astype(np.float64), np.maximum)
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=2e-6)


def convolution_work(tf: object) -> Work:
    """Ten calls of Conv2D(100, 3) on one image of 200x200 and 100 channels."""
    layer = tf.keras.layers.Conv2D(100, 3)
    random = np.random.default_rng(0)
    image = random.standard_normal((1, 200, 200, 100)).astype(np.float32)
    kernel = (random.standard_normal((3, 3, 100, 100)) * 0.03).astype(np.float32)
    given = tf.constant(image)
    layer(given)
    layer.set_weights([kernel, np.zeros(100, np.float32)])

    @tf.function
    def call(x: object) -> object:
        return layer(x)

    def run() -> object:
        for _ in range(10):
            found = call(given)
        return found

    def check() -> None:
        corner = np.einsum("hwi,hwio->o", image[0, :3, :3].astype(np.float64), kernel)
        # float32 sums of 900 products.
        np.testing.assert_allclose(call(given).numpy()[0, 0, 0], corner, rtol=1e-3, atol=1e-4)

    return Work(run=run, check=check)


def call_work(tf: object) -> Work:
    """x * 2 + 1 of a 2x2 tensor."""
    x = tf.constant(X)

    @tf.function
    def f(x: object) -> object:
        return x * 2.0 + 1.0

    return Work(
        run=lambda: f(x), check=lambda: np.testing.assert_array_equal(f(x).numpy(), X * 2 + 1)
    )


CASES = {
    "chain": Case(
        title="chain of 10 ops over a million floats, traced",
        aims={"tensorflow": 0.35, "jax": 0.6},
        work=chain_work,
        variants={"jax": jax_chain_work, "xla": partial(chain_work, xla=True)},
    ),
    "chain_eager": Case(
        title="chain of 10 ops over a million floats, eagerly",
        aims={},
        work=partial(chain_work, traced=False),
    ),
    "collatz": Case(
        title="Collatz, 1228 steps of an if in a while, traced",
        aims={"tensorflow": 0.02, "xla": 1.0, "jax": 1.0},
        sample_s=0.05,
        repeats=5,
        work=collatz_work,
        variants={"jax": jax_collatz_work, "xla": partial(collatz_work, xla=True)},
    ),
    "convolution_200": Case(
        title="Conv2D(100, 3) on 200×200×100, ten calls, traced",
        aims={},
        short=False,
        repeats=1,
        work=convolution_work,
    ),
    "scalar_loop": Case(
        title="Newton, 10,000 scalar steps of a while loop, traced",
        aims={"tensorflow": 0.02, "xla": 1.0, "jax": 1.0},
        sample_s=0.1,
        repeats=5,
        work=partial(loop_work, traced=True),
        variants={"jax": jax_loop_work, "xla": partial(loop_work, traced=True, xla=True)},
    ),
    "scalar_loop_eager": Case(
        title="10,000 scalar steps of a while loop, eagerly",
        aims={"tensorflow": 1.0},
        sample_s=0.1,
        repeats=3,
        rounds=5,
        work=partial(loop_work, traced=False),
    ),
    "traced_call": Case(title="traced call, trivial", aims={"tensorflow": 0.1}, work=call_work),
}
