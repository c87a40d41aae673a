"""Functions of elements: map, filter, scan, take_while, ignore_errors."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any

from pinnace.data.batch import Batched, Stacked
from pinnace.data.elements import (
    AUTOTUNE,
    UNKNOWN,
    Columns,
    Element,
    alone,
    array_of_tensor,
    columns_of,
    leaves_of,
    normalised,
    rows_of,
    spec_of,
)
from pinnace.data.failures import Failure, Guarded, Raising
from pinnace.data.functions import BatchedFunction, Direct, Traced, arguments_of, relaxed
from pinnace.data.row_wise import CoalescedBatches
from pinnace.data.stage import Indices, Rows, Run, Stage
from pinnace.data.workers import InParallelIfSlow
from pinnace.framework import structure
from pinnace.functions.autograph.conversion import converted_as_around

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class MappedRows(Rows):
    """Rows to which a function is applied when they are taken."""

    def __init__(self, rows: Rows, function: BatchedFunction) -> None:
        self._rows = rows
        self._function = function
        self.count = rows.count
        # Outputs count too: images grow fourfold when they become floats.
        self.row_bytes = rows.row_bytes + sum(_bytes(leaf) for leaf in function.one.leaves)

    def take(self, indices: Indices) -> Columns:
        """The function's results for the rows with these indices."""
        rows = self._rows.take(indices)
        try:
            return self._function(rows)
        except Exception:
            # One by one: a call that fails for many may succeed for one, or raise a clearer error.
            one = self._function.one
            return columns_of([one(row) for row in rows_of(rows)], one.leaves, "map")


def _bytes(spec: Any) -> int:
    count = spec.shape.num_elements()
    return (count or 1) * int(getattr(spec.dtype, "size", 4) or 8)


class MappedBlocks:
    """Blocks of function results; a failing block is recomputed row by row to find the error."""

    __slots__ = ("_blocks", "_function", "_waiting")

    def __init__(self, blocks: Iterator[Columns], function: BatchedFunction) -> None:
        self._blocks = blocks
        self._function = function
        self._waiting: Iterator[Element] | None = None

    def __iter__(self) -> MappedBlocks:
        return self

    def __next__(self) -> Columns:
        if self._waiting is not None:
            for row in self._waiting:
                return self._one(row)
            self._waiting = None
        block = next(self._blocks)
        try:
            return self._function(block)
        except Exception:
            self._waiting = iter(rows_of(block))
            return next(self)

    def _one(self, row: Element) -> Columns:
        result = self._function.one(row)
        return columns_of([result], self._function.one.leaves, "map")


class Mapped(Stage):
    """The function of every element."""

    def __init__(
        self, source: Stage, function: Traced | Direct, parallel: int | None, in_order: bool
    ) -> None:
        super().__init__(function.spec)
        self._source = source
        self._function = function
        self._parallel = parallel
        self._in_order = in_order

    def elements(self, run: Run) -> Iterator[Element]:
        """One call per element."""
        source = self._source.open(run)
        # A source of single elements may block on each: it is not read ahead.
        known = isinstance(self._source, Batched) and not isinstance(source, Stacked)
        function = run.begun(self._function)
        if known and function.row_wise:
            return CoalescedBatches(source, function)
        count = worker_count(self._parallel)
        # Calls that draw random numbers stay in order, since the numbers follow from the seed.
        if count > 1 and not function.draws_random:
            return InParallelIfSlow(source, function, count, self._in_order)
        return map(function, source)

    def blocks(self, run: Run) -> Iterator[Columns] | None:
        """One call per block, if the function is vectorised."""
        function = self._function.batched()
        if function is None:
            return None
        blocks = self._source.blocks(run)
        return None if blocks is None else MappedBlocks(blocks, function)

    def indexed(self, run: Run) -> tuple[Rows, Iterator[Indices]] | None:
        """The source's rows, mapped when they are taken."""
        function = self._function.batched()
        found = None if function is None else self._source.indexed(run)
        if found is None or function is None:
            return None
        return MappedRows(found[0], function), found[1]

    def rows(self) -> Rows | None:
        """The source's rows, mapped when they are taken."""
        function = self._function.batched()
        rows = None if function is None else self._source.rows()
        return None if rows is None or function is None else MappedRows(rows, function)

    def cardinality(self) -> int:
        """The cardinality of the source."""
        return self._source.cardinality()


def worker_count(parallel: Any) -> int:
    """The number of threads for `num_parallel_calls`."""
    if parallel is None:
        return 1
    return max(2, os.cpu_count() or 1) if parallel == AUTOTUNE else int(parallel)


class Filtered(Stage):
    """The elements for which the predicate holds."""

    def __init__(self, source: Stage, predicate: Traced | Direct) -> None:
        super().__init__(source.spec)
        self._source = source
        self._predicate = predicate

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements for which the predicate holds."""
        predicate = run.begun(self._predicate)
        return filter(lambda element: predicate(element)[0], self._source.open(run))

    def blocks(self, run: Run) -> Iterator[Columns] | None:
        """The rows of each block for which a vectorised predicate holds."""
        predicate = self._predicate.batched()
        blocks = None if predicate is None else self._source.blocks(run)
        if predicate is None or blocks is None:
            return None
        return Raising(_kept(Guarded(blocks), predicate))

    def indexed(self, run: Run) -> tuple[Rows, Iterator[Indices]] | None:
        """None: which rows remain is known only after computing the predicate."""
        del run
        return None

    def cardinality(self) -> int:
        """Unknown: it depends on the elements."""
        return UNKNOWN


def _kept(blocks: Iterable[Any], predicate: BatchedFunction) -> Iterator[Any]:
    for block in blocks:
        if type(block) is Failure:
            yield block
            continue
        try:
            (keep,) = predicate(block)
        except Exception:
            for row in Guarded(filter(lambda row: predicate.one(row)[0], rows_of(block))):
                yield row if type(row) is Failure else tuple([alone(leaf) for leaf in row])
            continue
        if keep.all():
            yield block
        elif keep.any():
            yield tuple([column[keep] for column in block])


class TakenWhile(Stage):
    """The elements before the first for which the predicate fails."""

    def __init__(self, source: Stage, predicate: Traced | Direct) -> None:
        super().__init__(source.spec)
        self._source = source
        self._predicate = predicate

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements before the first for which the predicate fails."""
        predicate = run.begun(self._predicate)
        return itertools.takewhile(lambda element: predicate(element)[0], self._source.open(run))


class WithoutErrors(Stage):
    """The elements that can be made."""

    def __init__(self, source: Stage, log_warning: bool) -> None:
        super().__init__(source.spec)
        self._source = source
        self._log = log_warning

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements; those that raise an error are skipped, and optionally logged."""
        import logging

        source = self._source.open(run)
        while True:
            try:
                element = next(source)
            except StopIteration:
                return
            except Exception as error:
                if self._log:
                    logging.getLogger("pinnace").warning("ignore_errors: %s", error)
            else:
                yield element


class StateFunction:
    """A function (state, element) -> (state, ...), traced so that the state has one spec.

    Args:
        initial: the state at the start, a structure.
        function: the user's.
        spec: spec of elements.
        who: the transformation.
        gives: whether it gives (state, output); False: the state alone.
    """

    def __init__(
        self, initial: Any, function: Callable[..., Any], spec: Any, who: str, gives: bool
    ) -> None:
        user = converted_as_around(function)
        state = normalised(initial)
        self.initial: tuple[Any, ...] = tuple(array_of_tensor(leaf) for leaf in leaves_of(state))
        state_spec = structure.map_structure(spec_of, state)

        def called(state: Any, *arguments: Any) -> Any:
            if gives:
                result = user(state, *_packed(arguments, spec))
                return tuple(result) if type(result) is list else result
            return (user(state, *_packed(arguments, spec)), ())

        while True:
            self.traced = Traced(called, (state_spec, *arguments_of(spec)), who)
            result = self.traced.spec
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(
                    f"{who}: `scan_func` should return a pair consisting of new state and the "
                    f"output value. Got {result}"
                )
            wider = relaxed(state_spec, result[0], who)
            if structure.flatten(wider) == structure.flatten(state_spec):
                break
            state_spec = wider
        self.state_spec = state_spec
        self.output_spec = result[1]
        self.count = len(self.initial)

    def __call__(self, state: Sequence[Any], element: Element) -> tuple[Element, Element]:
        """The new state, and the output."""
        results = self.traced((*state, *element))
        return results[: self.count], results[self.count :]


def _packed(arguments: tuple[Any, ...], spec: Any) -> tuple[Any, ...]:
    """An element as `reduce` and `scan` pass it: always as one argument."""
    return (arguments,) if type(spec) is tuple else arguments


class Scanned(Stage):
    """The outputs of a function that passes a state on from element to element."""

    def __init__(self, source: Stage, step: StateFunction) -> None:
        super().__init__(step.output_spec)
        self._source = source
        self._step = step

    def elements(self, run: Run) -> Iterator[Element]:
        """The outputs."""
        state: Sequence[Any] = self._step.initial
        step, count = run.begun(self._step.traced), self._step.count

        def output(element: Element) -> Element:
            nonlocal state
            results = step((*state, *element))
            state = results[:count]
            return results[count:]

        return map(output, self._source.open(run))

    def cardinality(self) -> int:
        """The cardinality of the source."""
        return self._source.cardinality()
