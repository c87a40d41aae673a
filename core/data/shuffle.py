"""Shuffling through a buffer, and unique elements.

A buffer is filled first; then each element that comes takes the place of a random one, which leaves;
at the end the rest leaves in random order. Where the source has rows, the same is done with their
numbers, and gives the same order.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from pinnace.data.elements import UNKNOWN, Element, leaf_array, whole_number
from pinnace.data.stage import Indices, Rows, Run, Stage, fresh_seed
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.random import seeds

_DRAWN = 1024


class SeedSource:
    """The seeds of one stage, pass after pass.

    Args:
        seed: the user's; with none and no global seed each pass draws a seed of its own.
        anew: whether each pass has another seed.
    """

    def __init__(self, seed: int | None, anew: bool) -> None:
        self._pair = seeds.get_seed(seed)
        self._anew = anew
        self._passes = itertools.count()
        self._lock = threading.Lock()
        self._fixed = fresh_seed()

    def __call__(self) -> int:
        """The seed of the next pass."""
        if not any(self._pair):
            return fresh_seed() if self._anew else self._fixed
        with self._lock:
            number = next(self._passes) if self._anew else 0
        made = np.random.SeedSequence([*self._pair, number]).generate_state(1, np.uint64)
        return int(made[0] >> 1)


def draws(generator: np.random.Generator, size: int) -> Iterator[int]:
    """Numbers in [0, size), the same ones however they are taken."""
    while True:
        yield from generator.integers(0, size, _DRAWN).tolist()


class Shuffled(Stage):
    """The elements in random order."""

    def __init__(self, source: Stage, buffer_size: Any, seed: int | None, anew: bool) -> None:
        super().__init__(source.spec)
        self._source = source
        self._size = whole_number(buffer_size, "shuffle", "buffer_size")
        if isinstance(self._size, int):
            self._checked()
        self._seeds = SeedSource(seed, anew)

    def _checked(self) -> int:
        size = int(self._size)
        if size == -2:
            # TensorFlow: UNKNOWN_CARDINALITY shuffles the whole dataset.
            return 2**62
        if size < 1:
            raise InvalidArgumentError(f"shuffle: buffer_size must be at least 1, got {size}")
        return size

    def _generators(self, run: Run) -> tuple[np.random.Generator, np.random.Generator]:
        """One for the places in the buffer, one for what is left in it at the end."""
        seed = run.seed(self._seeds)
        return np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements, moved through a buffer."""
        size = self._checked()
        generator, last = self._generators(run)
        source = self._source.open(run.at(0))
        buffer: list[Element] = list(itertools.islice(source, size))
        for element, place in zip(source, draws(generator, size), strict=False):
            yield buffer[place]
            buffer[place] = element
        for place in last.permutation(len(buffer)).tolist():
            yield buffer[place]

    def indexed(self, run: Run) -> tuple[Rows, Iterator[Indices]] | None:
        """The same rows, their numbers moved through a buffer."""
        found = self._source.indexed(run.at(0))
        if found is None:
            return None
        return found[0], self._moved(found[1], self._checked(), *self._generators(run))

    @staticmethod
    def _moved(
        stream: Iterable[Indices],
        size: int,
        generator: np.random.Generator,
        last: np.random.Generator,
    ) -> Iterator[Indices]:
        held: list[Indices] = []
        room = size
        numbers = iter(stream)
        rest: Indices = range(0)
        for block in numbers:
            held.append(block[:room])
            room -= len(held[-1])
            rest = block[len(held[-1]) :]
            if not room:
                break
        whole = np.concatenate([np.asarray(part, np.int64) for part in held or [range(0)]])
        if not room:
            buffer = whole.tolist()
            places = draws(generator, size)
            for block in itertools.chain((rest,), numbers):
                left = []
                for number, place in zip(np.asarray(block).tolist(), places, strict=False):
                    left.append(buffer[place])
                    buffer[place] = number
                if left:
                    yield np.array(left, np.int64)
            whole = np.array(buffer, np.int64)
        yield whole[last.permutation(len(whole))]

    def cardinality(self) -> int:
        """The source's."""
        return self._source.cardinality()


class Unique(Stage):
    """The elements, each once."""

    def __init__(self, source: Stage) -> None:
        super().__init__(source.spec)
        self._source = source

    def elements(self, run: Run) -> Iterator[Element]:
        """Those not seen before; all of them are remembered."""
        seen = set()
        for element in self._source.open(run.at(0)):
            arrays = [np.asarray(leaf_array(leaf)) for leaf in element]
            key = tuple(
                tuple(a.ravel().tolist()) if a.dtype == object else a.tobytes() for a in arrays
            )
            if key not in seen:
                seen.add(key)
                yield element

    def cardinality(self) -> int:
        """It depends on the elements."""
        return UNKNOWN
