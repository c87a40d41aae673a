"""Datasets from lists, by index, as variants, padded, and written to files."""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.dataset import Dataset, stage_of
from pinnace.data.elements import INFINITE, Element, Nest, array_of_tensor, text_of
from pinnace.data.failures import Chained, Failure, Guarded, raising
from pinnace.data.iterator import packer
from pinnace.data.prefetch import Cached, CachedInFile
from pinnace.data.stage import Run, Stage
from pinnace.data.variants import stage_of_variant
from pinnace.framework import dtypes, structure
from pinnace.framework.errors import (
    FailedPreconditionError,
    OutOfRangeError,
)
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.storage.record import RecordWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.data.iterator import DatasetIterator


def from_list(elements: Sequence[Nest], name: str | None = None) -> Dataset:
    """The elements of a list, which must have one structure and may differ in shape.

    Raises:
        ValueError: the list is empty.
    """
    del name
    if not isinstance(elements, list):
        raise TypeError(f"from_list: elements must be a list, got {type(elements).__name__}")
    if not elements:
        raise ValueError("from_list: at least one element is required, got none")
    parts = [Dataset.from_tensors(element) for element in elements]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.concatenate(part)
    return Dataset(Listed(whole.element_spec, [part.stage for part in parts]))


class Listed(Stage):
    """The elements of a list of stages with one element each."""

    def __init__(self, spec: Nest, parts: list[Stage]) -> None:
        super().__init__(spec)
        self._parts = parts

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements in order."""
        return Chained(lambda part: part.open(run), self._parts)

    def cardinality(self) -> int:
        """The number of elements."""
        return len(self._parts)


def at(dataset: Dataset, index: Any) -> Any:
    """The element at an index; earlier ones are computed too unless the stage has rows.

    Raises:
        OutOfRangeError: the index is out of range.
        FailedPreconditionError: the dataset has no end.
    """
    number = int(array_of_tensor(index)) if isinstance(index, Tensor) else int(index)
    stage = stage_of(dataset, "at")
    count = stage.cardinality()
    if count == INFINITE and not _is_cached(stage):
        raise FailedPreconditionError(
            "at: only datasets that end, or are cached, have elements by their number\n"
            "  Try: take, or cache"
        )
    if number >= 0:
        part = dataset.skip(number).take(1).stage
        # One order for all requested elements: a shuffle is not repeated.
        for element in part.open(Run(part, _order_of(stage))):
            return packer(stage, Dataset)(element)
    bound = count if count >= 0 else "the number of elements"
    raise OutOfRangeError(f"at: Index out of range [0, {bound}):{number}")


def _is_cached(stage: Stage) -> bool:
    parts = (part for part in vars(stage).values() if isinstance(part, Stage))
    return isinstance(stage, (Cached, CachedInFile)) or any(map(_is_cached, parts))


_orders: weakref.WeakKeyDictionary[Stage, list[int]] = weakref.WeakKeyDictionary()


def _order_of(stage: Stage) -> list[int]:
    """The seeds of a stage's pass, the same for every request."""
    if stage not in _orders:
        _orders[stage] = Run(stage).bases(stage)
    return _orders[stage]


def get_next_as_optional(iterator: DatasetIterator) -> Any:
    """The iterator's next element, or an empty Optional."""
    return iterator.get_next_as_optional()


def get_structure(dataset_or_iterator: Any) -> Nest:
    """The structure of the elements, with a spec at each leaf."""
    found = getattr(dataset_or_iterator, "element_spec", None)
    if found is None:
        raise TypeError(
            f"get_structure: a dataset or an iterator is required, got {dataset_or_iterator!r}"
        )
    return found


def to_variant(dataset: Dataset) -> Tensor:
    """A scalar variant that refers to the dataset, within this process."""
    stage_of(dataset, "to_variant")
    return dataset.variant_tensor


def from_variant(variant: Tensor, structure: Nest) -> Dataset:
    """The dataset of a variant.

    Args:
        variant: a result of `to_variant`.
        structure: structure of its elements.
    """
    return Dataset(stage_of_variant(variant, structure))


class FilledUp(Stage):
    """(element, whether it is real), with zero elements appended up to a number."""

    def __init__(self, source: Stage, count: int, mask_key: str) -> None:
        if not isinstance(source.spec, dict):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                f"pad_to_cardinality: elements must be dictionaries, are {source.spec}"
            )
        there = source.cardinality()
        if not 0 < there <= count:
            raise ValueError(
                f"pad_to_cardinality: the number of elements must be known and at most {count}, "
                f"is {there}"
            )
        for leaf in source.leaves:
            if not isinstance(leaf, TensorSpec) or not leaf.shape.is_fully_defined():
                raise ValueError(f"pad_to_cardinality: shapes must be known in full, got {leaf}")
        valid = TensorSpec.of(Shape(()), dtypes.bool_)
        spec = {**source.spec, mask_key: valid}
        super().__init__(spec)
        self._source = source
        self._count = count
        # Leaves are in the order of sorted keys.
        self._place = len(structure.flatten({k: v for k, v in spec.items() if k < mask_key}))

    @raising
    def elements(self, run: Run) -> Iterator[Any]:
        """The elements, then zeros."""
        place = self._place
        missing = self._count
        for element in Guarded(self._source.open(run)):
            missing -= 1
            failed = type(element) is Failure
            yield element if failed else (*element[:place], np.True_, *element[place:])
        empty = tuple(
            b"" if leaf.dtype is dtypes.string and not leaf.shape.rank else _zeros(leaf)
            for leaf in self._source.leaves
        )
        filled = (*empty[:place], np.False_, *empty[place:])
        yield from itertools.repeat(filled, missing)

    def cardinality(self) -> int:
        """The given number."""
        return self._count


def _zeros(leaf: TensorSpec) -> Any:
    shape = tuple(int(n) for n in leaf.shape if n is not None)
    return np.full(shape, b"" if leaf.dtype is dtypes.string else 0, leaf.dtype.numpy)


def pad_to_cardinality(cardinality: int, mask_key: str = "valid") -> Callable[[Dataset], Dataset]:
    """Append zero elements up to the cardinality; `mask_key` marks the real ones."""
    return lambda dataset: Dataset(FilledUp(dataset.stage, int(cardinality), mask_key))


class TFRecordWriter:
    """Writes a dataset of scalar strings to a TFRecord file.

    Args:
        filename: overwritten if it exists.
        compression_type: None, "GZIP" or "ZLIB".
    """

    def __init__(self, filename: Any, compression_type: str | None = None) -> None:
        self._filename = text_of(filename, "TFRecordWriter", "filename")
        self._compression = compression_type or None

    def write(self, dataset: Dataset) -> None:
        """Write every element.

        Raises:
            TypeError: elements that are no scalar strings.
        """
        stage = stage_of(dataset, "TFRecordWriter")
        wanted = TensorSpec.of(Shape(()), dtypes.string)
        if not isinstance(dataset, Dataset) or not wanted.is_compatible_with(stage.spec):
            raise TypeError(f"TFRecordWriter: elements must be scalar strings, are {stage.spec}")
        with RecordWriter(self._filename, self._compression) as writer:
            for (leaf,) in stage.open(Run()):
                writer.write(leaf if isinstance(leaf, bytes) else np.asarray(leaf, object).item())
