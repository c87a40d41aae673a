"""The reversible network of half the depth."""

import pinnace as tf
from cases.revnet_memory import work
from harness import Work


def theirs() -> Work:
    return work(tf, blocks=8)
