"""Selection of elements: repeat, take, skip, shard, concatenate, zip."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from pinnace.data.elements import (
    INFINITE,
    UNKNOWN,
    Columns,
    Element,
    known,
    merged,
    spec_text,
    whole_number,
)
from pinnace.data.failures import Chained, Guarded
from pinnace.data.stage import Indices, Rows, Run, Stage, limited
from pinnace.framework import structure
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class _Repeated:
    """Repeated passes; a failing element does not end them.

    Args:
        begin: begins a pass.
        count: number of passes; endless if negative.
    """

    __slots__ = ("_begin", "_elements", "_empty", "_left")

    def __init__(self, begin: Callable[[], Iterator[Element]], count: int) -> None:
        self._begin = begin
        self._left = count
        self._elements: Iterator[Element] | None = None
        self._empty = True

    def __iter__(self) -> _Repeated:
        return self

    def __next__(self) -> Element:
        while True:
            if self._elements is None:
                if not self._left:
                    raise StopIteration
                self._left -= 1
                self._elements, self._empty = self._begin(), True
            for element in self._elements:
                self._empty = False
                return element
            self._elements = None
            if self._empty and self._left < 0:
                self._left = 0  # TensorFlow: an empty dataset, repeated forever, is empty


class _Sliced:
    """Like `itertools.islice`, but continues after an element that fails.

    Args:
        elements: the iterator.
        start: how many are passed over.
        stop: how many are looked at; None looks at all.
        step: distance between the elements taken from `start` on.
    """

    __slots__ = ("_elements", "_next", "_place", "_step", "_stop")

    def __init__(
        self, elements: Iterator[Element], start: int, stop: int | None, step: int = 1
    ) -> None:
        self._elements = elements
        self._next, self._stop, self._step = start, stop, step
        self._place = 0

    def __iter__(self) -> _Sliced:
        return self

    def __next__(self) -> Element:
        if self._stop is not None and self._next >= self._stop:
            raise StopIteration
        while True:
            element = next(self._elements)
            self._place += 1
            if self._place > self._next:
                self._next += self._step
                return element


class Repeat(Stage):
    """A number of passes over the source."""

    def __init__(self, source: Stage, count: Any) -> None:
        super().__init__(source.spec)
        self._source = source
        self._count = whole_number(-1 if count is None else count, "repeat", "count")

    def elements(self, run: Run) -> Iterator[Element]:
        """Each repetition is a new pass over the source."""
        return _Repeated(lambda: self._source.open(run), int(self._count))

    def indexed(self, run: Run) -> tuple[Rows, Iterator[Indices]] | None:
        """The rows of the source, their indices repeated."""
        count = int(self._count)
        found = self._source.indexed(run) if count else None
        if found is None:
            return None
        rows, first = found

        def stream() -> Iterator[Indices]:
            yield from first
            for _ in itertools.repeat(None) if count < 0 else range(count - 1):
                again = self._source.indexed(run)
                if again is None or not rows.count:
                    return
                empty = True
                for block in again[1]:
                    empty = empty and not len(block)
                    yield block
                if empty:
                    return

        return rows, stream()

    def cardinality(self) -> int:
        """The source's cardinality, times the count."""
        count, each = known(self._count), self._source.cardinality()
        if count == 0 or each == 0:
            return 0
        if count is None:
            return UNKNOWN
        if count < 0 or each == INFINITE:
            return INFINITE  # TensorFlow: also where the source may be empty
        return UNKNOWN if each == UNKNOWN else each * count


class SkipAndTake(Stage):
    """The elements of another stage from index `skip` on, at most `take` of them."""

    def __init__(self, source: Stage, skip: Any = 0, take: Any = -1) -> None:
        super().__init__(source.spec)
        self._source = source
        self._skip = whole_number(skip, "skip", "count")
        self._take = whole_number(take, "take", "count")

    def elements(self, run: Run) -> Iterator[Element]:
        """The selected elements."""
        skip, take = int(self._skip), int(self._take)
        if skip < 0 or take == 0:
            return iter(())  # TensorFlow: skip(-1) skips all
        return _Sliced(self._source.open(run), skip, None if take < 0 else skip + take)

    def indexed(self, run: Run) -> tuple[Rows, Iterator[Indices]] | None:
        """The rows of the source, a slice of their indices."""
        found = self._source.indexed(run)
        if found is None:
            return None
        skip, take = int(self._skip), int(self._take)
        if skip < 0 or take == 0:
            return found[0], iter(())
        return found[0], limited(found[1], skip, take)

    def cardinality(self) -> int:
        """The number of elements after skip and take."""
        skip, take, there = known(self._skip), known(self._take), self._source.cardinality()
        if take == 0 or (skip is not None and skip < 0):
            return 0
        if skip is None or take is None or there == UNKNOWN:
            return UNKNOWN
        if there == INFINITE:
            return INFINITE if take < 0 else take
        left = max(0, there - skip)
        return left if take < 0 else min(left, take)


class Shard(Stage):
    """Every n-th element."""

    def __init__(self, source: Stage, count: Any, index: Any) -> None:
        super().__init__(source.spec)
        self._source = source
        self._count = whole_number(count, "shard", "num_shards", 1)
        self._index = whole_number(index, "shard", "index", 0)
        if isinstance(self._count, int) and isinstance(self._index, int):
            self._check(self._count, self._index)

    @staticmethod
    def _check(count: int, index: int) -> None:
        if count < 1 or not 0 <= index < count:
            raise InvalidArgumentError(
                f"shard: index must be in [0, num_shards), got index {index} of {count}"
            )

    def elements(self, run: Run) -> Iterator[Element]:
        """The selected elements."""
        count, index = int(self._count), int(self._index)
        self._check(count, index)
        return _Sliced(self._source.open(run), index, None, count)

    def indexed(self, run: Run) -> tuple[Rows, Iterator[Indices]] | None:
        """The rows of the source, every n-th of their indices."""
        found = self._source.indexed(run)
        if found is None:
            return None
        count, index = int(self._count), int(self._index)
        self._check(count, index)

        def stream() -> Iterator[Indices]:
            first = index
            for block in found[1]:
                part = block[first::count]
                first += len(part) * count - len(block)
                if len(part):
                    yield part

        return found[0], stream()

    def cardinality(self) -> int:
        """The source's cardinality divided by the number of shards."""
        count, index, there = known(self._count), known(self._index), self._source.cardinality()
        if there < 0 or count is None or index is None:
            return there if there == INFINITE else UNKNOWN
        return max(0, (there - index + count - 1) // count)


class Concatenated(Stage):
    """The elements of one, then those of the other."""

    def __init__(self, first: Stage, second: Stage) -> None:
        spec = merged(first.spec, second.spec)
        if spec is None:
            raise TypeError(
                "concatenate: Incompatible dataset elements: one structure and dtypes are needed\n"
                f"  {spec_text(first.spec)}   {spec_text(second.spec)}"
            )
        super().__init__(spec)
        self._sources = (first, second)

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements of one stage, then those of the other."""
        return Chained(lambda source: source.open(run), self._sources)

    def cardinality(self) -> int:
        """The sum."""
        both = [source.cardinality() for source in self._sources]
        if INFINITE in both:
            return INFINITE
        return UNKNOWN if UNKNOWN in both else sum(both)


class ZippedRows(Rows):
    """Zipped rows of several sources."""

    def __init__(self, parts: Sequence[Rows]) -> None:
        self._parts = tuple(parts)
        self.count = min(rows.count for rows in parts)
        self.row_bytes = sum(rows.row_bytes for rows in parts)

    def take(self, indices: Indices) -> Columns:
        """The rows with these indices."""
        return tuple([column for rows in self._parts for column in rows.take(indices)])


class _Abreast:
    """One element of each iterator, joined; where one fails, the others move on all the same."""

    __slots__ = ("_opened",)

    def __init__(self, opened: Sequence[Iterator[Element]]) -> None:
        self._opened = opened

    def __iter__(self) -> _Abreast:
        return self

    def __next__(self) -> Element:
        leaves: list[Any] = []
        waiting = iter(self._opened)
        try:
            for source in waiting:
                leaves += next(source)
        except StopIteration:
            raise
        except Exception:
            for source in waiting:
                next(Guarded(source), None)
            raise
        return tuple(leaves)


class Zipped(Stage):
    """Tuples with one element of each source."""

    def __init__(self, datasets: Any) -> None:
        """`datasets`: a structure of stages; the element has that structure."""
        self._sources: tuple[Stage, ...] = tuple(structure.flatten(datasets))
        super().__init__(structure.map_structure(lambda stage: stage.spec, datasets))

    def elements(self, run: Run) -> Iterator[Element]:
        """Elements until the shortest source ends."""
        return _Abreast([source.open(run) for source in self._sources])

    def rows(self) -> Rows | None:
        """The rows side by side."""
        found = [source.rows() for source in self._sources]
        parts = [rows for rows in found if rows is not None]
        return ZippedRows(parts) if len(parts) == len(found) else None

    def cardinality(self) -> int:
        """The smallest cardinality of the stages."""
        sizes = [source.cardinality() for source in self._sources]
        finite = [n for n in sizes if n != INFINITE]
        if not finite:
            return INFINITE
        return UNKNOWN if UNKNOWN in finite else min(finite)
