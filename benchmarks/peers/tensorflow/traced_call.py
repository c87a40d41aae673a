"""The same by TensorFlow."""

import tensorflow as tf

from cases.traced_call import work
from harness import Work


def theirs() -> Work:
    return work(tf)
