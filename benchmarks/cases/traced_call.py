"""A call of a traced function that does next to nothing: x * 2 + 1 of a 2x2 tensor."""

import numpy as np

from harness import Case, Work

CASE = Case(title="traced call, trivial", aims={"tensorflow": 0.1})
X = np.array([[1, 2], [3, 4]], np.float32)


def work(tf: object) -> Work:
    """The same program for both libraries."""
    x = tf.constant(X)

    @tf.function
    def f(x: object) -> object:
        return x * 2.0 + 1.0

    return Work(
        run=lambda: f(x), check=lambda: np.testing.assert_array_equal(f(x).numpy(), X * 2 + 1)
    )


def ours() -> Work:
    import pinnace as tf

    return work(tf)
