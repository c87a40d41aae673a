"""The same by TensorFlow."""

import tensorflow as tf

from cases.mlp_gradient import work
from harness import Work


def theirs() -> Work:
    return work(tf)
