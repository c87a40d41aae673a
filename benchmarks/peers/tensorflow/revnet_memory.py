"""The same by TensorFlow."""

import tensorflow as tf

from cases.revnet_memory import work
from harness import Work


def theirs() -> Work:
    return work(tf)
