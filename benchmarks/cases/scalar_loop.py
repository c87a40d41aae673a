"""10,000 steps of a traced `while` over scalars: Newton's iteration, by AutoGraph."""

import numpy as np

from harness import Case, Work

CASE = Case(
    title="10,000 scalar steps of a while loop, traced",
    aims={"tensorflow": 1.0},
    sample_s=0.1,
    repeats=5,
)
STEPS = 10_000


def iterate(x: object, steps: object) -> object:
    """Newton's iteration for the root of x; it converges at once and stays there."""
    y = x
    i = 0 * steps
    while i < steps:
        y = 0.5 * (y + x / y)
        i = i + 1
    return y


def work(tf: object, *, traced: bool) -> Work:
    """The same program for both libraries."""
    x, steps = tf.constant(2.0), tf.constant(STEPS)
    run = tf.function(iterate) if traced else iterate

    def check() -> None:
        # Where the iteration comes to rest is off by no more than a unit in the last place.
        np.testing.assert_allclose(run(x, steps).numpy(), np.sqrt(np.float32(2)), rtol=2e-7)

    return Work(run=lambda: run(x, steps), check=check)


def ours() -> Work:
    import pinnace as tf

    return work(tf, traced=True)
