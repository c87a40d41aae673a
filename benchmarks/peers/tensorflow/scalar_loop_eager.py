"""The same by TensorFlow."""

import tensorflow as tf

from cases.scalar_loop import work
from harness import Work


def theirs() -> Work:
    return work(tf, traced=False)
