"""Older and longer names: what TensorFlow calls `tf.random.experimental`."""

from pinnace.ops.random.algorithms import Algorithm as Algorithm
from pinnace.ops.random.generator import Generator as Generator
from pinnace.ops.random.generator import create_rng_state as create_rng_state
from pinnace.ops.random.generator import get_global_generator as get_global_generator
from pinnace.ops.random.generator import set_global_generator as set_global_generator
from pinnace.ops.random.shuffling import stateless_shuffle as stateless_shuffle
from pinnace.ops.random.stateless import fold_in as stateless_fold_in
from pinnace.ops.random.stateless import split as stateless_split

__all__ = [
    "Algorithm",
    "Generator",
    "create_rng_state",
    "get_global_generator",
    "set_global_generator",
    "stateless_fold_in",
    "stateless_shuffle",
    "stateless_split",
]
