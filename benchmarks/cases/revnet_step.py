"""A traced training step of a RevNet that computes its activations again, 16 images of 32x32.

Against TensorFlow, and against plain backpropagation by this library: 25 % more was published.
"""

import revnet
from harness import Case, Work

CASE = Case(
    title="RevNet training step, reversible",
    aims={"tensorflow": 1.0, "plain_backprop": 1.25},
    repeats=5,
)


def work(tf: object, *, reversible: bool = True) -> Work:
    """The same program for both libraries."""
    return revnet.training_step(tf, reversible=reversible, filters=(32, 64), blocks=2)


def ours() -> Work:
    import pinnace as tf

    return work(tf)
