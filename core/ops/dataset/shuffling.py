"""Shuffled datasets in graphs, optionally in a new order for each pass.

The orders are not TensorFlow's: they have the same distribution, and the same seeds reproduce them.
"""

from __future__ import annotations

import itertools
import secrets
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import SCALAR
from pinnace.ops.dataset.recipes import (
    ELEMENT,
    INFINITE,
    METADATA,
    as_variant,
    dataset_of,
    dataset_op,
    keep,
    made,
    whole,
)
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, OpDef, attr
from pinnace.ops.registry import register, scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.framework.tensor import Array
    from pinnace.ops.dataset.recipes import Leaves, Turn

__all__: list[str] = []


class SeedGenerator:
    """The seeds of one shuffle, pass after pass.

    Args:
        seed: with `seed2` the user's; none if both are 0.
        seed2: see there.
        reshuffle: whether each pass has another order.
    """

    def __init__(self, seed: int, seed2: int, *, reshuffle: bool) -> None:
        self._entropy = [seed % 2**64, seed2 % 2**64]
        if not any(self._entropy):
            self._entropy = [secrets.randbits(64)]
        self._reshuffle = reshuffle
        self._passes = itertools.count()

    def next_pass(self) -> np.random.Generator:
        """The random generator of the next pass."""
        number = next(self._passes) if self._reshuffle else 0
        return np.random.Generator(np.random.Philox([*self._entropy, number]))


def _shuffled(elements: Iterator[Leaves], size: int, rng: np.random.Generator) -> Iterator[Leaves]:
    """The elements, each drawn from a buffer of the following ones."""
    buffer = [keep(element) for element in itertools.islice(elements, size)]
    for element in elements:
        place = int(rng.integers(len(buffer)))
        yield buffer[place]
        buffer[place] = element
    while buffer:
        place = int(rng.integers(len(buffer)))
        buffer[place], buffer[-1] = buffer[-1], buffer[place]
        yield buffer.pop()


def _dataset(op: str, variant: Array, buffer_size: Array, seeds: SeedGenerator) -> Array:
    source = dataset_of(op, variant)
    if int(buffer_size) < 1:
        # TensorFlow: -1 means all elements; other values below 1 are refused.
        if int(buffer_size) != -1:
            raise InvalidArgumentError(
                f"{op}: buffer_size must be at least 1, or -1 for all, got {int(buffer_size)}"
            )
        if source.cardinality() == INFINITE:
            raise InvalidArgumentError(f"{op}: buffer_size must be given: the elements do not end")
    size = int(buffer_size) if int(buffer_size) > 0 else None

    def begin(turn: Turn) -> Iterator[Leaves]:
        elements = turn.take(source)
        rng = seeds.next_pass()
        if size is None:
            whole_ = [keep(element) for element in elements]
            return _shuffled(iter(whole_), max(len(whole_), 1), rng)
        return _shuffled(elements, size, rng)

    return made(begin, source.cardinality())


def _seeded_kernel(
    input_dataset: Array,
    buffer_size: Array,
    seed: Array,
    seed2: Array,
    *,
    reshuffle_each_iteration: bool,
) -> Array:
    seeds = SeedGenerator(int(seed), int(seed2), reshuffle=reshuffle_each_iteration)
    return _dataset("ShuffleDataset", input_dataset, buffer_size, seeds)


_SOURCE = "input_dataset: variant, buffer_size: int64"
_SEEDS = "seed: int64, seed2: int64"
_ATTRS = {**ELEMENT, **METADATA, "reshuffle_each_iteration": attr("bool", default=True)}
# Declared as random: two equal ops shuffle differently and must not be merged.
SHUFFLE = dataset_op(
    "ShuffleDataset", f"{_SOURCE}, {_SEEDS}", _seeded_kernel, _ATTRS, effect="random"
)


def _generated(handle: Array, seed: int, seed2: int, *, reshuffle: bool) -> SeedGenerator:
    found = np.asarray(handle)[()]
    if isinstance(found, SeedGenerator):
        return found
    return SeedGenerator(seed, seed2, reshuffle=reshuffle)


def _v2_kernel(input_dataset: Array, buffer_size: Array, seed_generator: Array) -> Array:
    op = "ShuffleDatasetV2"
    seeds = _generated(seed_generator, 0, 0, reshuffle=True)
    return _dataset(op, input_dataset, buffer_size, seeds)


SHUFFLE_V2 = dataset_op(
    "ShuffleDatasetV2", f"{_SOURCE}, seed_generator: resource", _v2_kernel, effect="random"
)


def _v3_kernel(
    input_dataset: Array,
    buffer_size: Array,
    seed: Array,
    seed2: Array,
    seed_generator: Array,
    *,
    reshuffle_each_iteration: bool,
) -> Array:
    op, again = "ShuffleDatasetV3", reshuffle_each_iteration
    seeds = _generated(seed_generator, int(seed), int(seed2), reshuffle=again)
    return _dataset(op, input_dataset, buffer_size, seeds)


SHUFFLE_V3 = dataset_op(
    "ShuffleDatasetV3",
    f"{_SOURCE}, {_SEEDS}, seed_generator: resource",
    _v3_kernel,
    _ATTRS,
    effect="random",
)


def _and_repeat_kernel(
    input_dataset: Array,
    buffer_size: Array,
    seed: Array,
    seed2: Array,
    count: Array,
    *,
    reshuffle_each_iteration: bool,
) -> Array:
    op = "ShuffleAndRepeatDataset"
    seeds = SeedGenerator(int(seed), int(seed2), reshuffle=reshuffle_each_iteration)
    return _shuffled_again(op, input_dataset, buffer_size, count, seeds)


def _shuffled_again(
    op: str, input_dataset: Array, buffer_size: Array, count: Array, seeds: SeedGenerator
) -> Array:
    """The dataset reshuffled and repeated."""
    shuffled = dataset_of(op, _dataset(op, input_dataset, buffer_size, seeds))
    times = whole(op, "count", count, -1)

    def begin(turn: Turn) -> Iterator[Leaves]:
        for _ in itertools.count() if times < 0 else range(times):
            empty = True
            for element in turn.take(shuffled):
                empty = False
                yield element
            if empty:
                return

    there = shuffled.cardinality()
    if times >= 0 and there >= 0:
        there *= times
    elif times < 0 and there > 0:
        there = INFINITE
    return made(begin, there)


SHUFFLE_AND_REPEAT = dataset_op(
    "ShuffleAndRepeatDataset",
    f"{_SOURCE}, {_SEEDS}, count: int64",
    _and_repeat_kernel,
    _ATTRS,
    effect="random",
)


def _and_repeat_v2_kernel(
    input_dataset: Array,
    buffer_size: Array,
    seed: Array,
    seed2: Array,
    count: Array,
    seed_generator: Array,
    *,
    reshuffle_each_iteration: bool,
) -> Array:
    op, again = "ShuffleAndRepeatDatasetV2", reshuffle_each_iteration
    seeds = _generated(seed_generator, int(seed), int(seed2), reshuffle=again)
    return _shuffled_again(op, input_dataset, buffer_size, count, seeds)


SHUFFLE_AND_REPEAT_V2 = dataset_op(
    "ShuffleAndRepeatDatasetV2",
    f"{_SOURCE}, {_SEEDS}, count: int64, seed_generator: resource",
    _and_repeat_v2_kernel,
    _ATTRS,
    effect="random",
)

DUMMY_SEED_GENERATOR = register(
    OpDef(
        name="DummySeedGenerator",
        signature="-> handle: resource",
        infer=scalar,
        kernel=lambda: as_variant(None),
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )
)


DUMMY_ITERATION_COUNTER = register(
    OpDef(
        name="DummyIterationCounter",
        signature="-> handle: resource",
        infer=scalar,
        kernel=lambda: as_variant(None),
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )
)


def _anonymous_numbers_kernel(seed: Array, seed2: Array) -> tuple[Array, Array]:
    found = SeedGenerator(int(seed), int(seed2), reshuffle=True)
    return as_variant(found), as_variant(None)


ANONYMOUS_RANDOM_SEED_GENERATOR = register(
    OpDef(
        name="AnonymousRandomSeedGenerator",
        signature=f"{_SEEDS} -> handle: resource, deleter: variant",
        infer=lambda _: (SCALAR, SCALAR),
        kernel=_anonymous_numbers_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="random",
    )
)


def generator_of(handle: Array, seed: int, seed2: int, *, reshuffle: bool) -> SeedGenerator:
    """The random generators of passes: from a handle, else from these seeds."""
    return _generated(handle, seed, seed2, reshuffle=reshuffle)


def _anonymous_kernel(seed: Array, seed2: Array, reshuffle: Array) -> tuple[Array, Array]:
    found = SeedGenerator(int(seed), int(seed2), reshuffle=bool(reshuffle))
    return as_variant(found), as_variant(None)


ANONYMOUS_SEED_GENERATOR = register(
    OpDef(
        name="AnonymousSeedGenerator",
        signature=f"{_SEEDS}, reshuffle: bool -> handle: resource, deleter: variant",
        infer=lambda _: (SCALAR, SCALAR),
        kernel=_anonymous_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="random",
    )
)
