"""x + x of a 2x2 tensor: nothing but dispatch."""

import numpy as np

from harness import Case, Work

CASE = Case(title="eager add, 2×2", aims={"tensorflow": 0.1})
X = np.array([[1, 2], [3, 4]], np.float32)
EXPECTED = X + X


def ours() -> Work:
    import pinnace as tf

    x = tf.constant(X)
    return Work(
        run=lambda: x + x,
        check=lambda: np.testing.assert_array_equal((x + x).numpy(), EXPECTED),
    )
