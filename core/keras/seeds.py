"""Seeds: SeedGenerator, a variable that provides a seed per draw, and the global seed."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.context import init_scope
from pinnace.keras.keras_variable import KerasVariable
from pinnace.keras.names import checked_name, class_name_in_snake_case, scope_of, unique_name
from pinnace.ops.array import constants

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


_orders = [itertools.count()]  # of the trainings since the seed was set


def make_default_seed() -> int:
    """A seed for an object without one; `set_random_seed` makes the sequence repeat."""
    # Keras: Python's own generator, so that one call seeds initializers, dropout and shuffles.
    return random.randint(1, 10**9)


def order_seed() -> int:
    """A seed for the order of a training's samples; `set_random_seed` makes the sequence repeat.

    It does not use Python's generator: models created after a training start with the weights that
    they have in Keras, whose shuffles are TensorFlow's.
    """
    words = np.random.SeedSequence([_next_default(), next(_orders[0])]).generate_state(1)
    return int(words[0])


def _next_default() -> int:
    """What `make_default_seed` will give, without drawing it."""
    ahead = random.Random()
    ahead.setstate(random.getstate())
    return ahead.randint(1, 10**9)


def set_random_seed(seed: int) -> None:
    """Make initial weights, dropout and shuffles from now on reproducible.

    Args:
        seed: from 0 to 2**32 - 1. Seeds the generators of Python, NumPy and this library.
    """
    from pinnace.ops.random import seeds

    if not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ValueError(f"set_random_seed: seed must be an int from 0 to 2**32 - 1, got {seed!r}")
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (programs that use NumPy's global generator)
    seeds.set_seed(seed)
    _orders[0] = itertools.count()
    for generator in _global:
        # In place: traced functions draw from its variable. The next draw outside them seeds it
        # again, from Python's generator as in Keras, so that the layers before it get Keras' seeds.
        generator.state.assign(np.array([_next_default(), 0], np.int64))
        generator.awaits_seed = True


class SeedGenerator(AutoTrackable):
    """Provides a new seed for each stateless random op.

    The state is a variable, so that the steps of a traced function differ.

    Args:
        seed: the start of the sequence; None draws it from the global seed.
        name: name of the state's scope.

    Source:
        Keras `SeedGenerator`: the state is `[seed, draws so far]`.
    """

    awaits_seed = False  # of the global one

    def __init__(self, seed: int | None = None, name: str | None = None) -> None:
        if seed is not None and (not isinstance(seed, int) or seed < 0):
            raise ValueError(
                f"SeedGenerator: Argument `seed` must be an integer, at least 0, got {seed!r}"
            )
        kind = type(self).__name__
        self.name = (
            unique_name(class_name_in_snake_case(kind))
            if name is None
            else checked_name(kind, name)
        )
        self._initial_seed = seed
        start = make_default_seed() if seed is None else seed
        with init_scope():
            self.state = KerasVariable(
                np.array([start, 0], np.int64),
                trainable=False,
                name=f"{scope_of(self.name)}seed_generator_state",
            )
            self._step = constants.constant(np.array([0, 1], np.int64))

    def next(self, ordered: bool = True) -> Tensor:
        """The next seed, int64[2].

        Args:
            ordered: whether seeds are counted; otherwise they are scattered among a million.
        """
        seed = self.state.value()
        if ordered:
            self.state.assign_add(self._step)
        else:
            self.state.assign((seed + 1) * 5387 % 933199)  # Keras' numbers
        return seed

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"seed": self._initial_seed}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> SeedGenerator:
        """The generator with a configuration."""
        return cls(**config)


# The generator of draws that are given no seed, once there was one.
_global: list[SeedGenerator] = []


def global_generator() -> SeedGenerator:
    """The generator for draws without a seed."""
    if not _global:
        _global.append(SeedGenerator(name="global_seed_generator"))
    elif _global[0].awaits_seed:
        _global[0].awaits_seed = False
        with init_scope():
            _global[0].state.assign(np.array([make_default_seed(), 0], np.int64))
    return _global[0]
