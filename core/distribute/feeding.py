"""Input pipelines with an element per replica: split batches, or elements in turn."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.composites import groups_of
from pinnace.data.dataset import Dataset, stage_of
from pinnace.data.elements import INFINITE, UNKNOWN, leaf_array
from pinnace.data.stage import Run, Stage
from pinnace.framework import structure
from pinnace.framework.composite import components_of, is_composite
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array, wrap
from pinnace.ops.composites.ragged.spec import RaggedTensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.data.elements import Element

# The tensors of one part of an element: of a tensor itself, or of a composite value.
Components = tuple[Array, ...]


def split(dataset: Dataset, count: int) -> Dataset:
    """Tuples of pieces of a dataset's batches, one for each replica.

    Raises:
        ValueError: the elements are no batches.
    """
    return Dataset(Split(stage_of(dataset, "experimental_distribute_dataset"), count))


def dealt(dataset: Dataset, count: int) -> Dataset:
    """Tuples of consecutive elements, one for each replica."""
    return Dataset(Dealt(stage_of(dataset, "distribute_datasets_from_function"), count))


class Split(Stage):
    """Each batch in pieces of equal size, except the last ones.

    Args:
        source: its elements are batches.
        count: how many pieces; those for which nothing is left are empty.
    """

    def __init__(self, source: Stage, count: int) -> None:
        def piece(leaf: Any) -> Any:
            if leaf.shape.rank == 0:
                raise ValueError(
                    "Call the `batch` method on the input Dataset in order to be able to split "
                    f"your input across {count} replicas: it has elements of {source.spec}"
                )
            size = leaf.shape[0] if leaf.shape.rank else None
            even = size // count if size is not None and size % count == 0 else None
            return resized(leaf, even)

        self._source = source
        self._count = count
        super().__init__((structure.map_structure(piece, source.spec),) * count)

    def elements(self, run: Run) -> Iterator[Element]:
        """The pieces of each batch, those of the first replica first."""
        groups = groups_of(self._source.spec)
        for element in self._source.open(run):
            parts = [
                (part, tuple([np.asarray(leaf_array(leaf)) for leaf in element[place]]))
                for part, place in groups
            ]
            leaves: list[Any] = []
            for replica in range(self._count):
                for part, components in parts:
                    leaves.extend(_piece(part, components, replica, self._count))
            yield tuple(leaves)

    def cardinality(self) -> int:
        """The number of batches."""
        return self._source.cardinality()


class Dealt(Stage):
    """Consecutive elements as one.

    Args:
        source: their source. If the shapes of its elements are known in full, what is left of them
            in the end is dropped; else the last replicas get empty tensors.
        count: how many are one.
    """

    def __init__(self, source: Stage, count: int) -> None:
        self._source = source
        self._count = count
        self._even = all(
            isinstance(leaf, TensorSpec) and leaf.shape.is_fully_defined() for leaf in source.leaves
        )
        super().__init__((source.spec,) * count)

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements for all replicas, those of the first replica first."""
        source = self._source.open(run)
        while found := list(itertools.islice(source, self._count)):
            missing = self._count - len(found)
            if missing and self._even:
                return
            if missing:
                found += [self._empty()] * missing
            yield tuple([leaf for element in found for leaf in element])

    def _empty(self) -> Element:
        leaves: list[Any] = []
        for part, _ in groups_of(self._source.spec):
            sizes = [size or 0 for size in part.shape] if part.shape.rank else []
            leaves.extend(zeros(part, sizes))
        return tuple(leaves)

    def cardinality(self) -> int:
        """The number of full groups, plus one for a remainder."""
        size = self._source.cardinality()
        if size in {INFINITE, UNKNOWN}:
            return size
        return size // self._count if self._even else -(-size // self._count)


def resized(leaf: Any, size: int | None) -> Any:
    """The spec with another first size."""
    rank = leaf.shape.rank
    shape = Shape(None) if rank is None else Shape([size, *leaf.shape[1:]])
    if isinstance(leaf, TensorSpec):
        return TensorSpec.of(shape, leaf.dtype)
    return type(leaf)._deserialize((shape, *leaf._serialize()[1:]))


def bounds(size: int, replica: int, count: int) -> tuple[int, int]:
    """The bounds of a replica's part of a batch.

    Args:
        size: samples in the batch.
        replica: from 0.
        count: how many replicas there are.
    """
    piece = -(-size // count)
    return min(replica * piece, size), min((replica + 1) * piece, size)


def rows_of(part: Any, components: Components) -> int:
    """The size of the first axis of a part of an element.

    Args:
        part: its spec.
        components: its tensors.
    """
    if isinstance(part, TensorSpec):
        return len(components[0])
    if isinstance(part, RaggedTensorSpec):
        return len(components[1]) - 1 if len(components) > 1 else len(components[0])
    return int(components[2][0])


def _piece(part: Any, components: Components, replica: int, count: int) -> Components:
    return cut(part, components, lambda size: bounds(size, replica, count))


def cut(part: Any, components: Components, between: Callable[[int], tuple[int, int]]) -> Components:
    """A range of rows of an element's part.

    Args:
        part: its spec.
        components: its tensors.
        between: takes the number of rows, gives the first, and that after the last.
    """
    start, stop = between(rows_of(part, components))
    if isinstance(part, TensorSpec):
        return (components[0][start:stop],)
    if isinstance(part, RaggedTensorSpec):
        return _ragged_rows(components, start, stop)
    return _sparse_rows(components, start, stop)


def _ragged_rows(components: Components, start: int, stop: int) -> Components:
    flat, *nested = components
    splits = []
    for level in nested:
        part = level[start : stop + 1]
        splits.append(part - part[0])
        start, stop = int(part[0]), int(part[-1])
    return (flat[start:stop], *splits)


def _sparse_rows(components: Components, start: int, stop: int) -> Components:
    indices, values, shape = components
    inside = (indices[:, 0] >= start) & (indices[:, 0] < stop)
    moved = indices[inside]
    moved[:, 0] -= start
    sizes = shape.copy()
    sizes[0] = stop - start
    return moved, values[inside], sizes


def zeros(part: Any, sizes: list[int]) -> Components:
    """The components of a part of an element, of zeros or of nothing.

    Args:
        part: its spec.
        sizes: sizes of its axes.
    """
    kind = part.dtype.numpy
    if isinstance(part, TensorSpec):
        found = np.zeros(sizes, kind)
        if kind.hasobject:
            found.fill(b"")
        return (found,)
    if isinstance(part, RaggedTensorSpec):
        splits = [np.zeros(1, part.row_splits_dtype.numpy)] * part.ragged_rank
        inner = [0, *sizes[1 + part.ragged_rank :]]
        return (np.zeros(inner, kind), *splits)
    rank = len(sizes)
    return np.zeros([0, rank], np.int64), np.zeros([0], kind), np.array(sizes, np.int64)


def pieces(value: Any, count: int) -> list[Any]:
    """A batch split into pieces, one for each replica.

    Args:
        value: a tensor, or a ragged or sparse one.
        count: how many replicas there are.

    Raises:
        ValueError: a scalar.
    """
    if value.shape.rank == 0:
        raise ValueError(f"a batch must have a first axis to split over replicas, got {value!r}")
    composite = is_composite(value)
    spec = value.spec if composite else TensorSpec.of(value.shape, value.dtype)
    components = tuple([np.asarray(part._array) for part in components_of(value)])
    found = []
    for replica in range(count):
        arrays = _piece(spec, components, replica, count)
        tensors = [
            wrap(array, part.dtype)
            for array, part in zip(arrays, components_of(value), strict=True)
        ]
        found.append(spec.from_components(tensors) if composite else tensors[0])
    return found
