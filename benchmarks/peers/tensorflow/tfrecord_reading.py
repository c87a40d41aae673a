"""The same by TensorFlow."""

import tensorflow as tf

from cases.tfrecord_reading import work
from harness import Work


def theirs() -> Work:
    return work(tf)
