"""Stage: one step of a pipeline, the implementation behind Dataset.

A stage can be read in three ways, each faster than the one before where it exists:

- `elements`: one element at a time;
- `blocks`: columns of many elements at once, in the same order;
- `indexed`: rows that can be taken in any order, and the stream of row numbers to take. Shuffling,
  repeating and skipping then move numbers, and `batch` gathers whole batches.

All three produce the same elements in the same order.
"""

from __future__ import annotations

import copy
import itertools
import secrets
import threading
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from pinnace.data.elements import UNKNOWN, Columns, Element, Nest, leaves_of, rows_of
from pinnace.data.failures import Chained
from pinnace.framework.context import state
from pinnace.framework.tensor import Array, SymbolicTensor
from pinnace.ops.random import seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

# Row indices: a range if they are consecutive, so that a block is a view.
Indices: TypeAlias = "range | Array"
# A function of a dataset; it has a method `begun`.
F = TypeVar("F")
_BLOCK = 256
_BLOCK_BYTES = 1 << 20


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
        self._fixed = secrets.randbits(63)
        # Made by a function: each dataset that a pass over another makes begins with the seed.
        self.begins_anew = state.tracer is not None and any(self._pair)

    def next_pass(self) -> int:
        """The seed of the next pass."""
        if not any(self._pair):
            return secrets.randbits(63) if self._anew else self._fixed
        with self._lock:
            number = next(self._passes) if self._anew else 0
        return _derived([*self._pair, number])

    def first_pass(self) -> int:
        """The seed of the first pass, if the user gave one."""
        return _derived([*self._pair, 0])

    def again(self, base: int, times: int) -> int:
        """The seed with which `repeat` restarts this stage within a pass."""
        return _derived([base, times]) if self._anew else base


def _derived(numbers: list[int]) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


class Run:
    """One pass over a pipeline, with the seeds of its stages so that it can be repeated.

    Args:
        stage: the last stage; its pass is counted now, also if it never comes to the shuffles. None
            counts when seeds are asked for.
        bases: the seeds of an earlier pass, to repeat it.
    """

    __slots__ = ("_bases", "_lock", "_opened", "_outer", "_plans", "_sources")

    def __init__(self, stage: Stage | None = None, bases: Sequence[int] | None = None) -> None:
        self._sources = [] if stage is None else stage.seed_sources()
        if bases is None:
            bases = [source.next_pass() for source in self._sources]
        self._bases = {id(s): base for s, base in zip(self._sources, bases, strict=True)}
        self._opened: dict[int, int] = {}
        # Traced functions that draw -> their plans, with the streams of this pass.
        self._plans: dict[Any, Callable[..., Any]] = {}
        self._outer: Run | None = None
        self._lock = threading.Lock()

    def inner(self) -> Run:
        """The run of a dataset that a function made: its seeds begin with it."""
        made = Run()
        made._outer = self._outer or self
        return made

    def begun(self, function: F) -> F:
        """A function for this pass: its random ops start their streams when the pass begins.

        Source:
            TensorFlow makes the kernels of a dataset's functions anew for each iterator, so that
            a seed gives every pass the same numbers; `repeat` goes on within one.
        """
        root = self._outer or self
        with root._lock:
            return function.begun(root._plans)  # type: ignore[attr-defined,no-any-return]

    def seed(self, source: SeedSource) -> int:
        """The seed for a stage that starts now."""
        if self._outer is not None and not source.begins_anew:
            return self._outer.seed(source)
        with self._lock:
            base = self._bases.get(id(source))
            if base is None:
                self._sources.append(source)
                fresh = source.next_pass if self._outer is None else source.first_pass
                base = self._bases[id(source)] = fresh()
            times = self._opened.get(id(source), 0)
            self._opened[id(source)] = times + 1
        return base if not times else source.again(base, times)

    def bases(self, stage: Stage) -> list[int]:
        """The seeds that repeat this pass over `stage`."""
        return [self._bases[id(source)] for source in stage.seed_sources()]


class Rows:
    """Elements that can be read in any order."""

    count: int
    row_bytes: int

    def take(self, indices: Indices) -> Columns:
        """The rows with these indices, as columns."""
        raise NotImplementedError


class Taken:
    """Blocks of rows. A failing block is read row by row, to find the error.

    Args:
        rows: the rows to read from.
        numbers: numbers of the rows of each block.
    """

    __slots__ = ("_numbers", "_rows", "_waiting")

    def __init__(self, rows: Rows, numbers: Iterator[Indices]) -> None:
        self._rows = rows
        self._numbers = numbers
        self._waiting: Iterator[Indices] | None = None

    def __iter__(self) -> Taken:
        return self

    def __next__(self) -> Columns:
        if self._waiting is not None:
            for one in self._waiting:
                return self._rows.take(one)
            self._waiting = None
        numbers = next(self._numbers)
        try:
            return self._rows.take(numbers)
        except Exception:
            if len(numbers) == 1:
                raise
            self._waiting = iter([numbers[i : i + 1] for i in range(len(numbers))])
            return next(self)


class Stage:
    """One step of a pipeline.

    Args:
        spec: the structure of its elements, with a spec at each leaf.
    """

    def __init__(self, spec: Nest) -> None:
        self.spec = spec
        self.leaves: tuple[Any, ...] = tuple(leaves_of(spec))

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements, one at a time; called if there are no blocks."""
        raise NotImplementedError

    def blocks(self, run: Run) -> Iterator[Columns] | None:
        """The elements in columns, or None if the stage has no blocks."""
        found = self.indexed(run)
        if found is None:
            return None
        rows, stream = found
        return Taken(rows, pieces(stream, block_length(rows.row_bytes)))

    def indexed(self, run: Run) -> tuple[Rows, Iterator[Indices]] | None:
        """Rows and the indices to read, or None if the stage has no rows."""
        del run
        rows = self.rows()
        return None if rows is None else (rows, iter((range(rows.count),)))

    def rows(self) -> Rows | None:
        """All elements as rows if they can be read in any order and never change, else None."""
        return None

    def open(self, run: Run) -> Iterator[Element]:
        """The elements, in the fastest available way."""
        blocks = self.blocks(run)
        return self.elements(run) if blocks is None else Chained(rows_of, blocks)

    def cardinality(self) -> int:
        """The number of elements; INFINITE or UNKNOWN."""
        return UNKNOWN

    # Parameters that are symbolic in a traced function that creates datasets.

    def symbols(self) -> list[SymbolicTensor]:
        """The symbolic tensors that it depends on, without duplicates."""
        found: dict[int, SymbolicTensor] = {}
        _collect(self, found, SymbolicTensor)
        return list(found.values())

    def seed_sources(self) -> list[SeedSource]:
        """The seeds that it depends on, without duplicates."""
        found: dict[int, SeedSource] = {}
        _collect(self, found, SeedSource)
        return list(found.values())

    def bound(self, values: dict[int, Any]) -> Stage:
        """This stage with its symbols, by `id`, replaced by arrays or stages."""
        result: Stage = _bind(self, values)
        return result


class Bindable:
    """A part of a stage that may capture symbolic tensors, such as a user's function.

    Attributes:
        own: names of attributes whose symbolic tensors it computes itself: nobody else binds them.
    """

    own: ClassVar[frozenset[str]] = frozenset()


class Stages(Bindable):
    """The stages of a list of datasets: one leaf of an element, whose rows are stages."""

    def __init__(self, stages: Iterable[Stage]) -> None:
        self._stages = tuple(stages)

    def __len__(self) -> int:
        return len(self._stages)

    def __iter__(self) -> Iterator[Stage]:
        return iter(self._stages)


def shown(held: Stage | Stages, public: Callable[[Stage], Any]) -> Any:
    """The dataset, or the list of datasets, for a leaf of an element."""
    return [public(stage) for stage in held] if isinstance(held, Stages) else public(held)


class Absent(Stage):
    """The placeholder for a dataset that exists only when a traced function runs.

    Args:
        spec: the structure of its elements.
        variant: the tensor that refers to the dataset; None if no op of the function may read it.
    """

    def __init__(self, spec: Nest, variant: SymbolicTensor | None = None) -> None:
        super().__init__(spec)
        self.variant = variant

    def elements(self, run: Run) -> Iterator[Element]:
        """Raises an error: the dataset is known only when the function runs."""
        del run
        raise RuntimeError("a dataset argument of a traced function was read while tracing")


def _collect(thing: Any, found: dict[int, Any], kind: type) -> None:
    if isinstance(thing, kind):
        found[id(thing)] = thing
    elif isinstance(thing, (Stage, Bindable)):
        hidden = thing.own if kind is SymbolicTensor and isinstance(thing, Bindable) else ()
        for name, part in vars(thing).items():
            if name not in hidden:
                _collect(part, found, kind)
    elif type(thing) in {tuple, list}:
        for part in thing:
            _collect(part, found, kind)


def _bind(thing: Any, values: dict[int, Any]) -> Any:
    found = values.get(id(thing))
    if found is not None:
        return found
    if isinstance(thing, Absent) and id(thing.variant) in values:
        return values[id(thing.variant)][()].stage
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


def block_length(row_bytes: int) -> int:
    """The number of elements per block, which balances call overhead against cache size."""
    return max(1, min(_BLOCK, _BLOCK_BYTES // max(1, row_bytes)))


def pieces(stream: Iterable[Indices], length: int) -> Iterator[Indices]:
    """The same indices in blocks of at most `length`."""
    for block in stream:
        if len(block) <= length:
            if len(block):
                yield block
        else:
            for start in range(0, len(block), length):
                yield block[start : start + length]


def exactly(stream: Iterable[Indices], length: int) -> Iterator[Indices]:
    """The same indices in blocks of `length`, of which only the last may be shorter."""
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
    """The indices from position `skip`, at most `take` of them (all if negative)."""
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
