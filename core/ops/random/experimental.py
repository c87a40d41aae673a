"""`tf.random.experimental`: older and longer names."""

import importlib
from typing import TYPE_CHECKING, Any

from pinnace.ops.random.algorithms import Algorithm as Algorithm
from pinnace.ops.random.generator import Generator as Generator
from pinnace.ops.random.generator import create_rng_state as create_rng_state
from pinnace.ops.random.generator import get_global_generator as get_global_generator
from pinnace.ops.random.generator import set_global_generator as set_global_generator
from pinnace.ops.random.shuffling import stateless_shuffle as stateless_shuffle
from pinnace.ops.random.stateless import fold_in as stateless_fold_in
from pinnace.ops.random.stateless import split as stateless_split

if TYPE_CHECKING:
    from pinnace.ops.random.indices import index_shuffle as index_shuffle

__all__ = [
    "Algorithm",
    "Generator",
    "create_rng_state",
    "get_global_generator",
    "index_shuffle",
    "set_global_generator",
    "stateless_fold_in",
    "stateless_shuffle",
    "stateless_split",
]


if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> Any:
        if name != "index_shuffle":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return importlib.import_module("pinnace.ops.random.indices").index_shuffle


def __dir__() -> list[str]:
    return list(__all__)
