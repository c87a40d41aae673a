"""Peak memory of a process that trains a RevNet of 16 blocks on 64 images: depth adds nothing.

Against plain backpropagation by this library, which keeps what is in between, and against the
reversible network of half the depth.
"""

import revnet
from harness import Case, Work

CASE = Case(
    title="RevNet memory, 16 blocks, reversible",
    aims={"tensorflow": 1.0},
    memory_aims={"tensorflow": 1.0, "plain_backprop": 0.6, "half_depth": 1.1},
    rounds=3,
    repeats=1,
)


def work(tf: object, *, reversible: bool = True, blocks: int = 16) -> Work:
    """The same program for both libraries."""
    return revnet.training_step(
        tf, reversible=reversible, filters=(16,), blocks=blocks, images=64, compared=False
    )


def ours() -> Work:
    import pinnace as tf

    return work(tf)
