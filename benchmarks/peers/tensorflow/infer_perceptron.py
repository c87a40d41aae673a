"""The same by TensorFlow."""

import tensorflow as tf

from harness import Work
from inference import work


def theirs() -> Work:
    return work(tf, "perceptron")
