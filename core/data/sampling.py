"""Datasets with random elements: drawn by weight from several, or by class from one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.elements import INFINITE, UNKNOWN, Element
from pinnace.data.failures import Failure, Guarded, raising
from pinnace.data.interleave import common_spec
from pinnace.data.stage import Run, SeedSource, Stage
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.data.functions import Direct, Traced
    from pinnace.framework.tensor import Array

_WHO = "sample_from_datasets"


class Sampled(Stage):
    """Elements of several datasets; the next one is drawn at random by weight."""

    def __init__(
        self,
        sources: Sequence[Stage],
        weights: Sequence[float],
        seeds: SeedSource,
        stop_on_empty: bool,
    ) -> None:
        super().__init__(common_spec(sources, _WHO))
        self._sources = tuple(sources)
        self._weights = _checked(weights, len(sources))
        self._seeds = seeds
        self._stop = stop_on_empty

    @raising
    def elements(self, run: Run) -> Iterator[Any]:
        """The elements; an ended dataset is skipped, or ends the pass."""
        generator = np.random.default_rng(run.seed(self._seeds))
        opened = [Guarded(source.open(run)) for source in self._sources]
        weights = self._weights.copy()
        while weights.any():
            ends = np.cumsum(weights / weights.sum())
            for place in generator.random(256):
                index = min(int(np.searchsorted(ends, place, "right")), len(opened) - 1)
                element = next(opened[index], None)
                if element is None:
                    if self._stop:
                        return
                    weights[index] = 0
                    break
                yield element

    def cardinality(self) -> int:
        """The sum of cardinalities, or unknown if it depends on the draws."""
        sizes = [source.cardinality() for source in self._sources]
        if INFINITE in sizes:  # TensorFlow says so even of datasets of which the first end counts
            return INFINITE
        return UNKNOWN if self._stop or UNKNOWN in sizes else sum(sizes)


class SampledBy(Stage):
    """Elements of several datasets; the next one is drawn at random by the current weights."""

    def __init__(
        self, sources: Sequence[Stage], weights: Stage, seeds: SeedSource, stop_on_empty: bool
    ) -> None:
        super().__init__(common_spec(sources, _WHO))
        leaf = weights.spec
        if (
            not isinstance(leaf, TensorSpec)
            or not leaf.dtype.is_floating
            or not leaf.shape.is_compatible_with(Shape((len(sources),)))
        ):
            raise TypeError(
                f"{_WHO}: weights must give floating vectors of {len(sources)}, give {leaf}"
            )
        self._sources = tuple(sources)
        self._weights = weights
        self._seeds = seeds
        self._stop = stop_on_empty

    @raising
    def elements(self, run: Run) -> Iterator[Any]:
        """Elements until the weights end; an ended dataset is skipped, or ends the iteration."""
        generator = np.random.default_rng(run.seed(self._seeds))
        opened = [Guarded(source.open(run)) for source in self._sources]
        ended: set[int] = set()

        def checked(row: Element) -> Array:
            return _checked(row[0], len(opened))

        for weights in Guarded(map(checked, self._weights.open(run))):
            if type(weights) is Failure:
                yield weights
                continue
            if not weights.any():
                return
            ends = np.cumsum(weights / weights.sum())
            index = min(int(np.searchsorted(ends, generator.random(), "right")), len(opened) - 1)
            element = next(opened[index], None)
            if element is not None:
                yield element
                continue
            ended.add(index)
            if self._stop or len(ended) == len(opened):
                return


def _checked(weights: Any, count: int) -> Array:
    found = np.asarray(weights, np.float64)
    if found.shape != (count,) or (found < 0).any():
        raise InvalidArgumentError(
            f"{_WHO}: weights and datasets should have the same length, and no weight be below 0; "
            f"got {found.tolist()} for {count} datasets"
        )
    return found


class Resampled(Stage):
    """(class, element), with elements rejected so that classes have the target distribution.

    An element is kept with a probability proportional to target / initial of its class, which is 1
    for the largest ratio. Without `initial`, the distribution is estimated from the elements read
    so far.

    Args:
        source: the elements.
        class_of: gives an element's class, an int32 or int64 scalar.
        target: the target distribution.
        initial: its initial value; None if unknown.
        seeds: seeds of the draws.
    """

    def __init__(
        self, source: Stage, class_of: Traced | Direct, target: Any, initial: Any, seeds: SeedSource
    ) -> None:
        (leaf, *more) = class_of.leaves or (None,)
        if more or leaf is None or leaf.shape.rank or not leaf.dtype.is_integer:
            raise TypeError(
                f"rejection_resample: class_func must give one integer, gives {class_of.spec}"
            )
        super().__init__((TensorSpec.of(Shape(()), leaf.dtype), source.spec))
        self._source = source
        self._class_of = class_of
        self._target = _distribution(target, "target_dist")
        self._initial = None if initial is None else _distribution(initial, "initial_dist")
        if self._initial is not None and len(self._initial) != len(self._target):
            raise InvalidArgumentError(
                "rejection_resample: target_dist and initial_dist must have one size, "
                f"got {len(self._target)} and {len(self._initial)}"
            )
        self._seeds = seeds

    def elements(self, run: Run) -> Iterator[Element]:
        """The accepted elements."""
        generator = np.random.default_rng(run.seed(self._seeds))
        seen = np.ones(len(self._target)) if self._initial is None else self._initial
        chances = self._chances(seen)
        class_of = run.begun(self._class_of)

        def classed(element: Element) -> Element:
            (found,) = class_of(element)
            number = int(found)
            if not 0 <= number < len(seen):
                raise InvalidArgumentError(
                    f"rejection_resample: a class must be in [0, {len(seen)}), got {number}"
                )
            return (found, *element)

        def is_accepted(element: Element) -> bool:
            nonlocal chances
            number = int(element[0])
            if self._initial is None:
                seen[number] += 1
                chances = self._chances(seen)
            return bool(generator.random() < chances[number])

        return filter(is_accepted, map(classed, self._source.open(run)))

    def _chances(self, seen: Array) -> Array:
        ratios = self._target / np.maximum(seen / seen.sum(), np.finfo(np.float64).tiny)
        found: Array = ratios / ratios.max()
        return found

    def cardinality(self) -> int:
        """Unknown: it depends on the draws."""
        return INFINITE if self._source.cardinality() == INFINITE else UNKNOWN


def _distribution(given: Any, name: str) -> Array:
    found = np.asarray(given, np.float64)
    if found.ndim != 1 or not len(found) or (found < 0).any() or not found.sum():
        raise InvalidArgumentError(
            f"rejection_resample: {name} must be a vector of numbers of at least 0, got {given!r}"
        )
    made: Array = found / found.sum()
    return made
