"""Datasets of parts of a dataset: windows of consecutive elements, groups by key, buckets."""

from __future__ import annotations

import itertools
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.data import composites
from pinnace.data.batch import Batched, PaddedBatched
from pinnace.data.dataset_spec import DatasetSpec
from pinnace.data.elements import INFINITE, UNKNOWN, Element, Nest, known, whole_number
from pinnace.data.failures import Chained, Failure, Guarded, raising
from pinnace.data.stage import Run, Stage
from pinnace.framework import structure
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, as_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class Held(Stage):
    """The elements of a window, in memory."""

    def __init__(self, spec: Nest, elements: Sequence[Element]) -> None:
        super().__init__(spec)
        self._held = elements

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements of the window."""
        del run
        return iter(self._held)

    def cardinality(self) -> int:
        """The number of elements."""
        return len(self._held)


class Windows(Stage):
    """Datasets of consecutive elements, one per component."""

    def __init__(self, source: Stage, size: Any, shift: Any, stride: Any, drop: bool) -> None:
        self._source = source
        self._size = whole_number(size, "window", "size", 1)
        self._shift = self._size if shift is None else whole_number(shift, "window", "shift", 1)
        self._stride = whole_number(stride, "window", "stride", 1)
        self._drop = bool(drop)
        super().__init__(structure.map_structure(DatasetSpec, source.spec))

    @raising
    def elements(self, run: Run) -> Iterator[Any]:
        """The windows; one with an element that fails is its error."""
        size, shift, stride = int(self._size), int(self._shift), int(self._stride)
        reach = (size - 1) * stride + 1
        source = Guarded(self._source.open(run))
        held: list[Any] = []
        while True:
            held.extend(itertools.islice(source, reach - len(held)))
            window = held[:reach:stride]
            if not window or (self._drop and len(held) < reach):
                return
            yield next((e for e in window if type(e) is Failure), None) or tuple(
                Held(part, [element[place] for element in window])
                for part, place in composites.groups_of(self._source.spec)
            )
            skipped = shift - len(held)
            held = held[shift:]
            if skipped > 0:
                next(itertools.islice(source, skipped - 1, skipped), None)

    def cardinality(self) -> int:
        """The number of windows."""
        there = self._source.cardinality()
        size, shift, stride = known(self._size), known(self._shift), known(self._stride)
        if there < 0 or size is None or shift is None or stride is None:
            return there if there == INFINITE else UNKNOWN
        if not self._drop:
            return -(-there // shift)
        reach = (size - 1) * stride + 1
        return 0 if there < reach else (there - reach) // shift + 1


class Grouped(Stage):
    """Elements grouped by key, and a dataset made from each full group."""

    def __init__(
        self, source: Stage, key: Any, size: Any, make: Callable[[Any, Stage], Stage], spec: Any
    ) -> None:
        super().__init__(spec)
        self._source = source
        self._key = key
        self._size = size
        self._make = make

    @raising
    def elements(self, run: Run) -> Iterator[Any]:
        """The dataset of each full group, then those of the other groups, ordered by key."""
        groups: dict[int, deque[Element]] = {}
        spec = self._source.spec
        for item in Guarded(map(self._keyed, self._source.open(run))):
            if type(item) is Failure:
                yield item
                continue
            key, size, element = item
            group = groups.setdefault(key, deque())
            group.append(element)
            if len(group) >= size:
                del groups[key]
                yield from self._made(key, Held(spec, tuple(group)), run)
        for key in sorted(groups):
            yield from self._made(key, Held(spec, tuple(groups[key])), run)

    def _keyed(self, element: Element) -> tuple[int, int, Element]:
        """An element with its key and the size of that key's groups."""
        key = int(self._key(element)[0])
        size = self._size if isinstance(self._size, int) else int(self._size((np.int64(key),))[0])
        if size < 1:
            raise InvalidArgumentError(
                f"group_by_window: window size must be at least 1, got {size}"
            )
        return key, size, element

    def _made(self, key: int, group: Stage, run: Run) -> Iterable[Any]:
        return Guarded(
            Chained(lambda one: self._make(np.int64(key), one).open(run.inner()), [group])
        )

    def cardinality(self) -> int:
        """Infinite if the source is, else unknown: the number of groups depends on the keys."""
        return INFINITE if self._source.cardinality() == INFINITE else UNKNOWN


class BucketPadding(NamedTuple):
    """The padding of a bucket's elements to one shape: `padded_batch`'s arguments."""

    shapes: Nest
    values: Nest
    to_boundary: bool


def bucketed(
    source: Stage,
    length: Callable[[Element], Element],
    bounds: Sequence[int],
    sizes: Sequence[int],
    padding: BucketPadding | None,
    drop_remainder: bool,
) -> Grouped:
    """Batches of elements of similar length.

    Args:
        source: the elements.
        length: gives an element's length.
        bounds: lengths at which the next bucket begins.
        sizes: the batch size of each bucket.
        padding: None if elements of a bucket have one shape already.
        drop_remainder: whether to leave out last, smaller batches.
    """

    def bucket(element: Element) -> tuple[int]:
        return (int(np.searchsorted(bounds, int(length(element)[0]), "right")),)

    def batch(key: Any, group: Stage) -> Stage:
        number = int(key)
        if padding is None:
            return Batched(group, sizes[number], drop_remainder)
        shapes = padding.shapes
        if padding.to_boundary:
            if number == len(bounds):
                raise InvalidArgumentError(
                    "bucket_by_sequence_length: with pad_to_bucket_boundary lengths must be "
                    f"below {bounds[-1]}"
                )
            shapes = _filled(group, shapes, bounds[number] - 1)
        return PaddedBatched(group, sizes[number], shapes, padding.values, drop_remainder)

    none = Held(source.spec, ())
    spec = (
        Batched(none, 1, False)
        if padding is None
        else PaddedBatched(none, 1, padding.shapes, padding.values, False)
    ).spec
    return Grouped(source, bucket, lambda key: (sizes[int(key[0])],), batch, spec)


def _filled(group: Stage, shapes: Nest, size: int) -> Nest:
    given = (
        [leaf.shape for leaf in group.leaves]
        if shapes is None
        else structure.flatten_up_to(group.spec, shapes, check_types=False)
    )
    filled = [Shape([size if n in {None, -1} else n for n in as_shape(s)]) for s in given]
    return structure.pack_sequence_as(group.spec, filled)
