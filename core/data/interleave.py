"""Datasets made from elements, and choices among datasets: flat_map, interleave, groups."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from pinnace.data.elements import (
    AUTOTUNE,
    INFINITE,
    INT64,
    UNKNOWN,
    Element,
    leaf_array,
    merged,
    spec_text,
    whole_number,
)
from pinnace.data.failures import Chained, Failure, Guarded, raising
from pinnace.data.map import worker_count
from pinnace.data.stage import Run, Stage
from pinnace.data.workers import Ahead
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.data.functions import StageMaker

# How many elements each input of a parallel interleave may prefetch.
_READY = 16


_NO_MORE = object()


class FlatMapped(Stage):
    """The elements of the datasets made from each element, one dataset after the other."""

    def __init__(self, source: Stage, maker: StageMaker) -> None:
        super().__init__(maker.spec)
        self._source = source
        self._maker = maker

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements of one dataset after the other."""
        maker = run.begun(self._maker)
        return Chained(lambda element: maker(element).open(run.inner()), self._source.open(run))


class Interleaved(Stage):
    """The elements of several datasets, round robin.

    `cycle_length` datasets are open; `block_length` elements are taken from each in turn; the next
    dataset replaces one that ends. In parallel, each has a thread that reads ahead; the order is
    the same unless `in_order` is false.
    """

    def __init__(
        self,
        source: Stage,
        maker: StageMaker,
        cycle_length: Any,
        block_length: Any,
        parallel: int | None,
        in_order: bool,
    ) -> None:
        super().__init__(maker.spec)
        self._source = source
        self._maker = maker
        cycle = (
            AUTOTUNE
            if cycle_length is None
            else whole_number(cycle_length, "interleave", "cycle_length")
        )
        if cycle == AUTOTUNE:
            # TensorFlow: no more datasets are open than there are parallel calls.
            cycle = worker_count(AUTOTUNE)
            cycle = cycle if parallel in {None, AUTOTUNE} else min(cycle, parallel)
        if isinstance(cycle, int) and cycle < 1:
            raise InvalidArgumentError(f"interleave: cycle_length must be at least 1, got {cycle}")
        self._cycle = cycle
        self._block = whole_number(block_length, "interleave", "block_length", 1)
        self._parallel = parallel
        self._in_order = in_order

    @raising
    def elements(self, run: Run) -> Iterator[Any]:
        """The elements, round robin."""
        cycle, block = int(self._cycle), int(self._block)
        maker = run.begun(self._maker)

        def opened(element: Element) -> Guarded:
            made = maker(element).open(run.inner())
            return Guarded(made if self._parallel is None else Ahead(made, max(_READY, block)))

        made = Guarded(map(opened, self._source.open(run)))
        # Slots keep their order: an ended one is refilled at its next turn.
        slots: list[Any] = list(itertools.islice(made, cycle))
        while slots:
            kept: list[Any] = []
            for slot in slots:
                current = slot
                while current is None or type(current) is Failure:
                    if current is not None:
                        yield current
                    current = next(made, _NO_MORE)
                if current is _NO_MORE:
                    continue
                taken = 0
                for element in current:
                    yield element
                    # TensorFlow: only in parallel an error counts as an element of the block.
                    taken += self._parallel is not None or type(element) is not Failure
                    if taken == block:
                        break
                kept.append(current if taken == block else None)
            slots = kept

    def cardinality(self) -> int:
        """Unknown; as TensorFlow says, infinite if the source is and the calls are parallel."""
        endless = self._parallel is not None and self._source.cardinality() == INFINITE
        return INFINITE if endless else UNKNOWN


class Chosen(Stage):
    """Elements of several datasets; another dataset selects the next one."""

    def __init__(self, sources: Sequence[Stage], choice: Stage, stop_on_empty: bool) -> None:
        if choice.spec != INT64:
            raise TypeError(
                "choose_from_datasets: choice_dataset must give tf.int64 scalars, "
                f"gives {spec_text(choice.spec)}"
            )
        super().__init__(common_spec(sources, "choose_from_datasets"))
        self._sources = tuple(sources)
        self._choice = choice
        self._stop = stop_on_empty

    @raising
    def elements(self, run: Run) -> Iterator[Any]:
        """The chosen elements; a choice of an ended dataset is skipped, or ends the iteration."""
        opened = [Guarded(source.open(run)) for source in self._sources]
        for index in Guarded(map(self._index, self._choice.open(run))):
            if type(index) is Failure:
                yield index
                continue
            element = next(opened[index], None)
            if element is not None:
                yield element
            elif self._stop:
                return

    def _index(self, choice: Element) -> int:
        index = int(leaf_array(choice[0]))
        if not 0 <= index < len(self._sources):
            raise InvalidArgumentError(
                f"choose_from_datasets: a choice must be in [0, {len(self._sources)}), got {index}"
            )
        return index

    def cardinality(self) -> int:
        """Unknown: it depends on the choices; infinite, as TensorFlow says, if a dataset is."""
        endless = any(source.cardinality() == INFINITE for source in self._sources)
        return INFINITE if endless else UNKNOWN


def common_spec(sources: Sequence[Stage], who: str) -> Any:
    """A spec for the elements of all sources."""
    if not sources:
        raise ValueError(f"{who}: at least one dataset is required, got none")
    spec = sources[0].spec
    for source in sources[1:]:
        joined = merged(spec, source.spec)
        if joined is None:
            raise TypeError(
                f"{who}: all datasets must have elements of one structure and dtypes\n"
                f"  {spec_text(spec)}   {spec_text(source.spec)}"
            )
        spec = joined
    return spec
