"""The same by TensorFlow."""

import tensorflow as tf

from cases.mobilenet_save import work
from harness import Work


def theirs() -> Work:
    return work(tf)
