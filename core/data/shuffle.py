"""Shuffling through a buffer, and unique elements.

A buffer is filled first; then each new element replaces a random one, which is output; at the end
the rest is output in random order. If the source has rows, the same is done with their indices, and
gives the same order.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.elements import UNKNOWN, Columns, Element, alone, leaf_array, whole_number
from pinnace.data.failures import Failure, Guarded, raising
from pinnace.data.stage import Indices, Rows, Run, SeedSource, Stage, pieces
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pinnace.framework.tensor import Array

_DRAWN = 1024


def place_blocks(generator: np.random.Generator, size: int) -> Iterator[Array]:
    """Random positions in [0, size), in blocks without repetition that are exchanged together."""
    length = max(1, min(_DRAWN, size // 4))
    while True:
        if length == 1:
            # A small buffer must allow repeated positions: each number is a block.
            yield from generator.integers(0, size, (_DRAWN, 1))
        else:
            yield generator.choice(size, length, replace=False)


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
        """The generators for positions in the buffer, and for the buffer's remainder at the end."""
        seed = run.seed(self._seeds)
        return np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])

    @raising
    def elements(self, run: Run) -> Iterator[Any]:
        """The elements, shuffled through a buffer."""
        size = self._checked()
        generator, last = self._generators(run)
        # An error takes the place of its element: it comes when its turn does.
        source = Guarded(self._source.open(run))
        buffer: list[Any] = list(itertools.islice(source, size))
        places = itertools.chain.from_iterable(
            block.tolist() for block in place_blocks(generator, size)
        )
        for element, place in zip(source, places, strict=False):
            yield buffer[place]
            buffer[place] = element
        for place in last.permutation(len(buffer)).tolist():
            yield buffer[place]

    def indexed(self, run: Run) -> tuple[Rows, Iterator[Indices]] | None:
        """The source's rows, with indices shuffled through a buffer."""
        found = self._source.indexed(run)
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
        buffer = np.concatenate([np.asarray(part, np.int64) for part in held or [range(0)]])
        if not room:
            drawn = place_blocks(generator, size)
            places = next(drawn)
            for block in itertools.chain((rest,), numbers):
                coming = np.asarray(block, np.int64)
                while len(coming):
                    if not len(places):
                        places = next(drawn)
                    now, places = places[: len(coming)], places[len(coming) :]
                    yield buffer[now]
                    buffer[now] = coming[: len(now)]
                    coming = coming[len(now) :]
        yield buffer[last.permutation(len(buffer))]

    def blocks(self, run: Run) -> Iterator[Columns] | None:
        """The source's columns, shuffled through a buffer of columns if it has columns."""
        found = super().blocks(run)
        if found is not None:
            return found
        blocks = self._source.blocks(run)
        return None if blocks is None else self._exchanged(Guarded(blocks), run)

    @raising
    def _exchanged(self, blocks: Guarded, run: Run) -> Iterator[Any]:
        size = self._checked()
        generator, last = self._generators(run)
        held: list[Columns] = []
        room = size
        rest: Columns | None = None
        for block in blocks:
            if type(block) is Failure:
                yield block
                continue
            held.append(tuple([column[:room] for column in block]))
            if len(block[0]) >= room:
                rest = tuple([column[room:] for column in block])
                room = 0
                break
            room -= len(block[0])
        if not held:
            return
        buffer = _Buffer(held)
        del held
        if rest is not None:
            drawn = place_blocks(generator, size)
            places = next(drawn)
            for coming in itertools.chain((rest,), blocks):
                if type(coming) is Failure:
                    yield coming
                    continue
                start, length = 0, len(coming[0])
                while start < length:
                    places = places if len(places) else next(drawn)
                    now, places = places[: length - start], places[length - start :]
                    stop = start + len(now)
                    yield from buffer.exchange(now, tuple([c[start:stop] for c in coming]))
                    start = stop
        order = last.permutation(buffer.count)
        for piece in pieces((order,), _DRAWN):
            yield from buffer.taken(np.asarray(piece))

    def cardinality(self) -> int:
        """The cardinality of the source."""
        return self._source.cardinality()


class Unique(Stage):
    """The distinct elements, in the order of their first occurrence."""

    def __init__(self, source: Stage) -> None:
        super().__init__(source.spec)
        self._source = source

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements that have not occurred before."""
        seen = set()

        def is_new(element: Element) -> bool:
            arrays = [np.asarray(leaf_array(leaf)) for leaf in element]
            key = tuple(
                tuple(a.ravel().tolist()) if a.dtype == object else a.tobytes() for a in arrays
            )
            known = key in seen
            seen.add(key)
            return not known

        return filter(is_new, self._source.open(run))

    def cardinality(self) -> int:
        """Unknown: it depends on the elements."""
        return UNKNOWN


class _Buffer:
    """Rows stored in columns; in a list from the first row of a different shape on."""

    def __init__(self, blocks: list[Columns]) -> None:
        self._columns: list[Array] | None = None
        self._lists: list[list[Any]] = []
        self.count = sum(len(block[0]) for block in blocks)
        columns = list(zip(*blocks, strict=True))
        if all(len({part.shape[1:] for part in parts}) == 1 for parts in columns):
            self._columns = [np.concatenate(parts) for parts in columns]
        else:
            self._lists = [[row for part in parts for row in part] for parts in columns]

    def exchange(self, places: Array, coming: Columns) -> Iterator[Columns]:
        """Exchange the rows at these positions for new rows."""
        yield from self.taken(places)
        mine = self._columns
        if mine is not None and any(
            a.shape[1:] != b.shape[1:] for a, b in zip(mine, coming, strict=True)
        ):
            self._lists = [list(column) for column in mine]
            mine = self._columns = None
        if mine is not None:
            for column, new in zip(mine, coming, strict=True):
                column[places] = new
            return
        for rows, new in zip(self._lists, coming, strict=True):
            for place, row in zip(places.tolist(), new, strict=True):
                rows[place] = row

    def taken(self, places: Array) -> Iterator[Columns]:
        """The rows at these positions: one block, or single rows if their shapes differ."""
        if self._columns is not None:
            yield tuple([column.take(places, 0) for column in self._columns])
            return
        for place in places.tolist():
            yield tuple([alone(rows[place]) for rows in self._lists])
