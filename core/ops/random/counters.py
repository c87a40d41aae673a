"""The counter of a random stream, and its increments."""

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Array
from pinnace.ops.kernels import philox
from pinnace.ops.state.variables import resource_of

# The state is a variable, int64: the counter, low half first, then the key.
_MASK = (1 << 64) - 1


def advance(resource: Array, elements: int) -> tuple[Array, philox.KeyCounter]:
    """The state before, and the stream starting there; the state is advanced atomically."""
    before = np.empty(0, np.int64)

    def moved(state: Array, skip: Array) -> Array:
        nonlocal before
        before = state
        counter = (_counter(state) + int(skip)) & (_MASK << 64 | _MASK)
        after = np.array([counter & _MASK, counter >> 64], np.uint64).view(np.int64)
        return np.concatenate([after, state[2:]])

    variable = resource_of(resource)
    if variable.shape != (3,):
        raise InvalidArgumentError(
            f"RngReadAndSkip: the state must have shape [3], got {variable.shape.text}"
        )
    variable.update(moved, np.array(elements * philox.SKIP_PER_OUTPUT, object))
    return before, philox.KeyCounter(int(before[2]) & _MASK, _counter(before))


def _counter(state: Array) -> int:
    low, high = (int(half) & _MASK for half in state[:2])
    return high << 64 | low
