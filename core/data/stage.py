"""Stage: one step of a pipeline, without the public face.

A stage can be read in three ways, each faster than the one before where it exists:

- `elements`: one element at a time;
- `blocks`: columns of many elements at once, in the same order;
- `indexed`: rows that can be taken in any order, and the stream of row numbers to take. Shuffling,
  repeating and skipping then move numbers, and `batch` gathers whole batches.

All three give the same elements in the same order.
"""

from __future__ import annotations

import copy
import secrets
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pinnace.data.elements import UNKNOWN, Columns, Element, Nest, rows_of
from pinnace.framework import structure
from pinnace.framework.tensor import Array, SymbolicTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

# Row numbers: a range where they follow each other, so that a block is a view.
Indices: TypeAlias = "range | Array"
_BLOCK = 256
_BLOCK_BYTES = 1 << 20


class Run:
    """One pass over a pipeline: the seeds that its stages draw, so that it can be repeated.

    Each stage is known by its path: which input of which input it is.
    """

    __slots__ = ("_path", "_replayed", "_seeds")

    def __init__(
        self,
        seeds: dict[tuple[int, ...], list[int]] | None = None,
        replayed: dict[tuple[int, ...], int] | None = None,
        path: tuple[int, ...] = (),
    ) -> None:
        self._seeds = {} if seeds is None else seeds
        self._replayed = {} if replayed is None else replayed
        self._path = path

    def at(self, *keys: int) -> Run:
        """The same pass, as seen by an input of this stage."""
        return Run(self._seeds, self._replayed, (*self._path, *keys))

    def seed(self, draw: Callable[[], int]) -> int:
        """The next seed of this stage: one of an earlier pass that is repeated, or a new one."""
        drawn = self._seeds.setdefault(self._path, [])
        position = self._replayed.get(self._path, 0)
        self._replayed[self._path] = position + 1
        if position == len(drawn):
            drawn.append(draw())
        return drawn[position]

    @property
    def seeds(self) -> dict[tuple[int, ...], list[int]]:
        """The seeds drawn so far, by path."""
        return {path: list(drawn) for path, drawn in list(self._seeds.items())}


def fresh_seed() -> int:
    """A seed nobody can foresee."""
    return secrets.randbits(63)


class Rows:
    """Elements that can be taken in any order."""

    count: int
    row_bytes: int

    def take(self, indices: Indices) -> Columns:
        """The rows of these numbers, as columns."""
        raise NotImplementedError


class Stage:
    """One step of a pipeline.

    Args:
        spec: the structure of its elements, with a spec at each leaf.
    """

    def __init__(self, spec: Nest) -> None:
        self.spec = spec
        self.leaves: tuple[Any, ...] = tuple(structure.flatten(spec))

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements, one at a time; called if there are no blocks."""
        raise NotImplementedError

    def blocks(self, run: Run) -> Iterator[Columns] | None:
        """The elements in columns, None if the stage has no such way."""
        found = self.indexed(run)
        if found is None:
            return None
        rows, stream = found
        return map(rows.take, pieces(stream, block_length(rows.row_bytes)))

    def indexed(self, run: Run) -> tuple[Rows, Iterator[Indices]] | None:
        """Rows and the numbers of those to take, None if the stage has no such way."""
        del run
        rows = self.rows()
        return None if rows is None else (rows, iter((range(rows.count),)))

    def rows(self) -> Rows | None:
        """All elements as rows, where they can be taken in any order and are always the same."""
        return None

    def open(self, run: Run) -> Iterator[Element]:
        """The elements, the fastest way."""
        blocks = self.blocks(run)
        return self.elements(run) if blocks is None else Flattened(blocks)

    def cardinality(self) -> int:
        """How many elements there are; INFINITE or UNKNOWN."""
        return UNKNOWN

    # Parameters that are symbolic while a function that makes datasets is traced.

    def symbols(self) -> list[SymbolicTensor]:
        """The symbolic tensors it depends on, each once."""
        found: dict[int, SymbolicTensor] = {}
        _collect(self, found)
        return list(found.values())

    def bound(self, values: dict[int, Any]) -> Stage:
        """This stage with arrays, or stages, in the place of symbols, by their `id`."""
        result: Stage = _bind(self, values)
        return result


class Bindable:
    """What a stage holds and what may depend on symbols itself: a user's function."""


class Absent(Stage):
    """Stands for a dataset that a traced function is given as an argument."""

    def elements(self, run: Run) -> Iterator[Element]:
        """Refused: there is nothing yet."""
        del run
        raise RuntimeError("a dataset that a traced function was given was read while tracing")


def _collect(thing: Any, found: dict[int, SymbolicTensor]) -> None:
    if isinstance(thing, SymbolicTensor):
        found[id(thing)] = thing
    elif isinstance(thing, (Stage, Bindable)):
        for part in vars(thing).values():
            _collect(part, found)
    elif type(thing) in {tuple, list}:
        for part in thing:
            _collect(part, found)


def _bind(thing: Any, values: dict[int, Any]) -> Any:
    found = values.get(id(thing))
    if found is not None:
        return found
    if isinstance(thing, (Stage, Bindable)):
        changed = {}
        for name, part in vars(thing).items():
            made = _bind(part, values)
            if made is not part:
                changed[name] = made
        if not changed:
            return thing
        twin = copy.copy(thing)
        vars(twin).update(changed)
        return twin
    if type(thing) in {tuple, list}:
        parts = [_bind(part, values) for part in thing]
        if all(a is b for a, b in zip(parts, thing, strict=True)):
            return thing
        return type(thing)(parts)
    return thing


class Flattened:
    """The elements of blocks; a block that fails does not end it."""

    __slots__ = ("_blocks", "_rows")

    def __init__(self, blocks: Iterator[Columns]) -> None:
        self._blocks = blocks
        self._rows: Iterator[Element] = iter(())

    def __iter__(self) -> Flattened:
        return self

    def __next__(self) -> Element:
        for row in self._rows:
            return row
        while True:
            self._rows = iter(rows_of(next(self._blocks)))
            for row in self._rows:
                return row


def block_length(row_bytes: int) -> int:
    """How many elements to handle at once: enough to pay for the call, few enough for the cache."""
    return max(1, min(_BLOCK, _BLOCK_BYTES // max(1, row_bytes)))


def pieces(stream: Iterable[Indices], length: int) -> Iterator[Indices]:
    """The same numbers in blocks of at most `length`."""
    for block in stream:
        if len(block) <= length:
            if len(block):
                yield block
        else:
            for start in range(0, len(block), length):
                yield block[start : start + length]


def exactly(stream: Iterable[Indices], length: int) -> Iterator[Indices]:
    """The same numbers in blocks of `length`, of which only the last may be shorter."""
    waiting: list[Indices] = []
    have = 0
    for block in stream:
        start = 0
        while have + len(block) - start >= length:
            stop = start + length - have
            waiting.append(block[start:stop])
            yield _joined(waiting)
            waiting, have, start = [], 0, stop
        if start < len(block):
            waiting.append(block[start:])
            have += len(block) - start
    if waiting:
        yield _joined(waiting)


def _joined(parts: Sequence[Indices]) -> Indices:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([np.asarray(part, np.int64) for part in parts])


def limited(stream: Iterable[Indices], skip: int, take: int) -> Iterator[Indices]:
    """The numbers from position `skip`, at most `take` of them (all if negative)."""
    for block in stream:
        if skip >= len(block):
            skip -= len(block)
            continue
        part = block[skip:]
        skip = 0
        if take >= 0:
            part = part[:take]
            take -= len(part)
        if len(part):
            yield part
        if take == 0:
            return
