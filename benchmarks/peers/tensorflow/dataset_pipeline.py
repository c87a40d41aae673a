"""The same by TensorFlow."""

import tensorflow as tf

from cases.dataset_pipeline import work
from harness import Work


def theirs() -> Work:
    return work(tf)
