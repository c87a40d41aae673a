"""Prefetching and caching: prefetch, cache in memory, cache and snapshot in files."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from pinnace.data.elements import AUTOTUNE, Columns, Element, columns_of, whole_number
from pinnace.data.failures import Failure, Guarded, raising
from pinnace.data.sources import ArrayRows
from pinnace.data.stage import Rows, Run, Stage
from pinnace.data.workers import Ahead, AheadIfSlow
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The buffer size for AUTOTUNE.
_READY = 2


class Prefetched(Stage):
    """The same elements, computed in advance by a thread."""

    def __init__(self, source: Stage, buffer_size: Any) -> None:
        super().__init__(source.spec)
        self._source = source
        self._size = whole_number(
            AUTOTUNE if buffer_size is None else buffer_size, "prefetch", "buffer_size", -1
        )

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements."""
        size = int(self._size)
        source = self._source.open(run)
        if not size:
            return source
        if size == AUTOTUNE:
            return AheadIfSlow(source, _READY)
        return Ahead(source, size)

    def cardinality(self) -> int:
        """The cardinality of the source."""
        return self._source.cardinality()


class Cached(Stage):
    """A cache in memory, filled by the first pass that reads all elements."""

    def __init__(self, source: Stage) -> None:
        super().__init__(source.spec)
        self._source = source
        self._lock = threading.Lock()
        # Shared by the copies that `bound` makes, unless their elements differ.
        self._memory: tuple[Element, ...] | None = None
        self._rows: Rows | None = None

    def elements(self, run: Run) -> Iterator[Element]:
        """The cached elements; the source's elements in the first pass."""
        if self._memory is not None:
            return iter(self._memory)
        elements: Iterator[Element] = self._remembering(self._source.open(run))
        return elements

    @raising
    def _remembering(self, source: Iterator[Element]) -> Iterator[Any]:
        seen: list[Element] = []
        expected = self._source.cardinality()
        for element in Guarded(source):
            if type(element) is not Failure:
                seen.append(element)
                if len(seen) == expected:
                    self._keep(seen)  # a reader that knows the number never asks for the end
            yield element
        self._keep(seen)

    def _keep(self, seen: list[Element]) -> None:
        with self._lock:
            if self._memory is None:
                self._memory = tuple(seen)
                self._rows = self._as_rows(self._memory)

    def _as_rows(self, elements: tuple[Element, ...]) -> Rows | None:
        """The elements as columns, if all have one shape."""
        exact = all(
            isinstance(leaf, TensorSpec) and leaf.shape.is_fully_defined() for leaf in self.leaves
        )
        if not elements or not exact:
            return None
        columns: Columns = columns_of(elements, self.leaves, "cache")
        rows = ArrayRows(columns)
        # One copy, not two.
        self._memory = _RowSequence(rows)  # type: ignore[assignment]  # a sequence of elements all the same
        return rows

    def rows(self) -> Rows | None:
        """The rows once they are in memory, else None."""
        return self._rows

    def cardinality(self) -> int:
        """The source's cardinality, or the counted number."""
        return self._source.cardinality() if self._rows is None else self._rows.count


class _RowSequence:
    """The elements of rows, created when they are accessed."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[Element]:
        columns = self._rows.take(range(self._rows.count))
        return zip(*columns, strict=True)


class CachedInFile(Stage):
    """A cache in files, written by the first pass that reads all elements.

    Args:
        source: the elements.
        exists: whether the files are there.
        read: their elements.
        write: passes elements on while it writes them; takes their number too, UNKNOWN if need be.
    """

    def __init__(
        self,
        source: Stage,
        exists: Callable[[], bool],
        read: Callable[[], Iterator[Element]],
        write: Callable[[Iterator[Element], int], Iterator[Element]],
    ) -> None:
        super().__init__(source.spec)
        self._source = source
        self._exists = exists
        self._read = read
        self._write = write

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements in the files; the source's elements in the first pass."""
        if self._exists():
            return self._read()
        return self._write(self._source.open(run), self._source.cardinality())

    def cardinality(self) -> int:
        """The cardinality of the source."""
        return self._source.cardinality()
