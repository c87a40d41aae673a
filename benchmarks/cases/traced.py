"""Traced functions: one that does next to nothing, and 10,000 steps of a loop over scalars."""

from functools import partial

import numpy as np

from harness import Case, Work

X = np.array([[1, 2], [3, 4]], np.float32)
STEPS = 10_000


def iterate(x: object, steps: object) -> object:
    """Newton's iteration for the root of x; it converges at once and stays there."""
    y = x
    i = 0 * steps
    while i < steps:
        y = 0.5 * (y + x / y)
        i = i + 1
    return y


def loop_work(tf: object, *, traced: bool) -> Work:
    """Newton's iteration by AutoGraph, or as Python runs it: four ops and a comparison a step."""
    x, steps = tf.constant(2.0), tf.constant(STEPS)
    run = tf.function(iterate) if traced else iterate

    def check() -> None:
        # Where the iteration comes to rest is off by no more than a unit in the last place.
        np.testing.assert_allclose(run(x, steps).numpy(), np.sqrt(np.float32(2)), rtol=2e-7)

    return Work(run=lambda: run(x, steps), check=check)


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
    "scalar_loop": Case(
        title="10,000 scalar steps of a while loop, traced",
        aims={"tensorflow": 1.0},
        sample_s=0.1,
        repeats=5,
        work=partial(loop_work, traced=True),
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
