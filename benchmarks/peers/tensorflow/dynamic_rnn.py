"""The same by TensorFlow."""

import tensorflow as tf

from harness import Work
from lstm import dynamic_work


def theirs() -> Work:
    return dynamic_work(tf, rows=32, steps=50, units=64)
