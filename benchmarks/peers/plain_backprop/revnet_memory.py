"""The same network by plain backpropagation, which keeps the activations."""

import pinnace as tf
from cases.revnet_memory import work
from harness import Work


def theirs() -> Work:
    return work(tf, reversible=False)
