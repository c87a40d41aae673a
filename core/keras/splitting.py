"""`keras.utils.split_dataset`: a dataset in memory, split in two."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.batch import Batched
from pinnace.data.dataset import Dataset
from pinnace.data.elements import AUTOTUNE
from pinnace.framework import structure

if TYPE_CHECKING:
    from collections.abc import Sequence

_WHO = "split_dataset"


def split_dataset(
    dataset: Any,
    left_size: float | None = None,
    right_size: float | None = None,
    shuffle: bool = False,
    seed: int | None = None,
    preferred_backend: str | None = None,
) -> tuple[Dataset, Dataset]:
    """The first elements of a dataset and its last ones; all are held in memory.

    Args:
        dataset: a Dataset, an array of elements along its first axis, or a list or tuple of arrays
            of one length.
        left_size: how many elements the first part has, or which share (between 0 and 1); what
            `right_size` leaves if None.
        right_size: the same of the second part.
        shuffle: whether elements are shuffled before.
        seed: seed of the shuffling; another each time if None.
        preferred_backend: `tensorflow` or None.

    Returns:
        Two Datasets of the dtypes that were given. Those of a Dataset whose last step is `batch`
        have batches of that size.

    Raises:
        TypeError: `dataset` or a size is of another type.
        ValueError: neither size is given, or they leave a part empty, or take more than there is.
    """
    if preferred_backend not in {None, "tensorflow"}:
        raise ValueError(
            f"{_WHO}: preferred_backend must be tensorflow or None, got {preferred_backend!r}"
        )
    if left_size is None and right_size is None:
        raise ValueError(f"{_WHO}: left_size or right_size must be given")
    batch_size = None
    if isinstance(dataset, Dataset):
        stage = dataset._stage
        if isinstance(stage, Batched):
            batch_size, dataset = stage.size, dataset.unbatch()
        elements = list(dataset.as_numpy_iterator())
    elif isinstance(dataset, (list, tuple, np.ndarray)):
        elements = _elements_of(dataset)
    else:
        raise TypeError(
            f"{_WHO}: dataset must be a Dataset, an array, or a list or tuple of arrays, "
            f"got {type(dataset).__name__}"
        )
    if not elements:
        raise ValueError(f"{_WHO}: dataset is empty")
    if shuffle:
        random.Random(seed).shuffle(elements)
    left, right = _sizes(left_size, right_size, len(elements))
    parts = []
    for part in (elements[:left], elements[-right:]):
        made = Dataset.from_tensor_slices(_joined(part))
        parts.append((made if batch_size is None else made.batch(batch_size)).prefetch(AUTOTUNE))
    return parts[0], parts[1]


def _elements_of(arrays: Any) -> list[Any]:
    """The elements of an array; of several arrays, tuples with one element of each."""
    if isinstance(arrays, np.ndarray):
        return list(arrays)
    for place, array in enumerate(arrays):
        if not isinstance(array, np.ndarray):
            raise ValueError(  # noqa: TRY004 - what Keras raises
                f"{_WHO}: dataset must hold NumPy arrays, holds {type(array).__name__} at {place}"
            )
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise ValueError(f"{_WHO}: the arrays must have one length, got {lengths}")
    return list(zip(*arrays, strict=True))


def _joined(elements: Sequence[Any]) -> Any:
    """Elements of one structure as a structure of arrays."""
    first = elements[0]
    columns = zip(*[structure.flatten(element) for element in elements], strict=True)
    return structure.pack_sequence_as(first, [_stacked(column) for column in columns])


def _stacked(column: Sequence[Any]) -> Any:
    shapes = {np.shape(item) for item in column}
    if len(shapes) > 1:
        raise ValueError(
            f"{_WHO}: all elements must have one shape, got {sorted(map(list, shapes))[:4]}"
        )
    return np.array(column)


def _sizes(left: float | None, right: float | None, total: int) -> tuple[int, int]:
    """The number of elements in each part."""
    for name, size in (("left_size", left), ("right_size", right)):
        if size is None:
            continue
        if isinstance(size, bool) or not isinstance(size, (int, float)):
            raise TypeError(
                f"{_WHO}: {name} must be an integer, a share, or None, got {type(size).__name__}"
            )
        most = 1 if isinstance(size, float) else total
        if not 0 < size < most:
            raise ValueError(f"{_WHO}: {name} must be above 0 and below {most}, got {size}")
    if isinstance(left, float) and isinstance(right, float) and left + right > 1:
        raise ValueError(f"{_WHO}: left_size and right_size take {left + right} of the whole")
    first = round(left * total) if isinstance(left, float) else left
    second = round(right * total) if isinstance(right, float) else right
    if first is None:
        first = total - int(second or 0)
    elif second is None:
        second = total - first
    assert first is not None  # noqa: S101 - one of them was given
    assert second is not None  # noqa: S101 - see above
    if first + second > total:
        raise ValueError(
            f"{_WHO}: left_size and right_size ask for {first + second} elements, there are {total}"
        )
    if not first or not second:
        raise ValueError(
            f"{_WHO}: a part would be empty: left_size={left} and right_size={right} "
            f"of {total} elements"
        )
    return int(first), int(second)
