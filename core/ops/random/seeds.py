"""Seeds of stateful random ops, derived from the global seed and the op's seed."""

import random
import threading
import weakref
from typing import Any

from pinnace.framework.context import state
from pinnace.ops import running

__all__ = ["set_seed"]

# TensorFlow's constants: the global seed for an op with only its own seed, and the range of both.
_DEFAULT = 87654321
_MODULUS = 2**31 - 1


class _Seeds:
    """The global seed, and the number of seeds derived from it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: int | None = None
        self.derived = random.Random(0)
        self.graphs: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


_seeds = _Seeds()


def global_seed() -> int | None:
    """The last value given to `set_seed`; None if there is none."""
    return _seeds.value


def set_seed(seed: int | None) -> None:
    """Make the numbers of stateful random ops reproducible, from here on.

    Args:
        seed: the global seed; None makes them unforeseeable again. An op's numbers follow from the
            global seed and its own; one without is given the next of a sequence that the global
            seed determines. Streams that ops have begun start anew.

    Source:
        TensorFlow `tf.random.set_seed`: the same program draws the same numbers.
    """
    number = None if seed is None else int(seed)
    with _seeds.lock:
        _seeds.value = number
        _seeds.derived = random.Random(0 if number is None else number)
        _seeds.graphs = weakref.WeakKeyDictionary()
    running.start_streams_anew()


def get_seed(op_seed: int | None) -> tuple[int, int]:
    """The attributes `seed` and `seed2` for an op's seed; (0, 0) is nondeterministic."""
    with _seeds.lock:
        if _seeds.value is None:
            if op_seed is None:
                return 0, 0
            pair = _DEFAULT, int(op_seed) % _MODULUS
        else:
            own = _next_seed() if op_seed is None else int(op_seed)
            pair = _seeds.value % _MODULUS, own % _MODULUS
    # (0, 0) means nondeterministic seeds, the opposite of the request.
    return (0, _MODULUS) if pair == (0, 0) else pair


def _next_seed() -> int:
    tracer: Any = state.tracer
    if tracer is None:
        return _seeds.derived.randint(0, _MODULUS)
    # Per graph, seeds count from 0: a graph draws the same numbers whenever it is traced.
    count = _seeds.graphs.get(tracer.graph, 0)
    _seeds.graphs[tracer.graph] = count + 1
    return count
