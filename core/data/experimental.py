"""TensorFlow's `tf.data.experimental`: what are methods of Dataset today, and a few more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from pinnace.data.dataset import Dataset
from pinnace.data.elements import AUTOTUNE as AUTOTUNE
from pinnace.data.elements import INFINITE as INFINITE_CARDINALITY
from pinnace.data.elements import UNKNOWN as UNKNOWN_CARDINALITY
from pinnace.data.elements import Element, Nest
from pinnace.data.stage import Run, Stage
from pinnace.framework import dtypes
from pinnace.framework.errors import FailedPreconditionError

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

Transformation = Callable[[Dataset], Dataset]


class AutoShardPolicy(IntEnum):
    """Accepted for TensorFlow's sake: there is one worker."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class Counted(Stage):
    """The same elements; a pass with another number of them fails."""

    def __init__(self, source: Stage, count: int) -> None:
        super().__init__(source.spec)
        self._source = source
        self._count = count

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements, counted."""
        seen = 0
        for element in self._source.open(run):
            seen += 1
            if 0 <= self._count < seen:
                self._refuse(f"more than {self._count}")
            yield element
        if seen != self._count:
            self._refuse(str(seen))

    def _refuse(self, found: str) -> None:
        wanted = "without end" if self._count == INFINITE_CARDINALITY else str(self._count)
        raise FailedPreconditionError(
            f"assert_cardinality: the number of elements must be {wanted}, is {found}"
        )

    def cardinality(self) -> int:
        """What was asserted."""
        return self._count


def assert_cardinality(expected_cardinality: int) -> Transformation:
    """The dataset, known to have that many elements; a pass that has not fails."""
    return lambda dataset: Dataset(
        Counted(dataset.stage, int(expected_cardinality)), dataset.options()
    )


def cardinality(dataset: Dataset) -> Tensor:
    """How many elements there are."""
    return dataset.cardinality()


def get_single_element(dataset: Dataset) -> Any:
    """The only element."""
    return dataset.get_single_element()


def ignore_errors(log_warning: bool = False) -> Transformation:
    """The elements that can be made."""
    return lambda dataset: dataset.ignore_errors(log_warning)


def unbatch() -> Transformation:
    """The rows of every element."""
    return lambda dataset: dataset.unbatch()


def unique() -> Transformation:
    """The elements, each once."""
    return lambda dataset: dataset.unique()


def enumerate_dataset(start: int = 0) -> Transformation:
    """(number, element)."""
    return lambda dataset: dataset.enumerate(start)


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """The elements before the first for which `predicate` gives False."""
    return lambda dataset: dataset.take_while(predicate)


def scan(initial_state: Nest, scan_func: Callable[..., Any]) -> Transformation:
    """What a function with a state puts out."""
    return lambda dataset: dataset.scan(initial_state, scan_func)


def shuffle_and_repeat(
    buffer_size: int, count: int | None = None, seed: int | None = None
) -> Transformation:
    """Shuffled, then repeated."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: int,
    num_parallel_batches: int | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: int | None = None,
) -> Transformation:
    """Mapped, then batched."""
    del num_parallel_batches
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(
        batch_size, drop_remainder
    )


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:
    """Elements collected by key."""
    return lambda dataset: dataset.group_by_window(
        key_func, reduce_func, window_size, window_size_func
    )


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Nest = None,
    padding_values: Nest = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Padded batches of elements of similar length."""
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: int,
    block_length: int = 1,
    sloppy: bool = False,
    buffer_output_elements: int | None = None,
    prefetch_input_elements: int | None = None,
) -> Transformation:
    """Interleaved, each dataset read ahead by a thread."""
    del buffer_output_elements, prefetch_input_elements
    return lambda dataset: dataset.interleave(
        map_func, cycle_length, block_length, AUTOTUNE, not sloppy
    )


def prefetch_to_device(device: str, buffer_size: int | None = None) -> Transformation:
    """Prefetched: the only device is this one."""
    del device
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """The same dataset: the only device is this one."""
    del target_device, source_device
    return lambda dataset: dataset


def snapshot(path: Any, compression: str | None = "AUTO", **options: Any) -> Transformation:
    """The same elements, kept at `path`."""
    return lambda dataset: dataset.snapshot(path, compression, **options)


def save(
    dataset: Dataset, path: Any, compression: str | None = None, shard_func: Any = None
) -> None:
    """Write every element into the folder `path`."""
    dataset.save(path, compression, shard_func)


def load(
    path: Any, element_spec: Nest = None, compression: str | None = None, reader_func: Any = None
) -> Dataset:
    """The dataset that `save` wrote."""
    return Dataset.load(path, element_spec, compression, reader_func)


def Counter(start: int = 0, step: int = 1, dtype: Any = dtypes.int64) -> Dataset:  # noqa: N802 (TensorFlow's name)
    """start, start + step, and so on without end."""
    return Dataset.counter(start, step, dtype)


def RandomDataset(seed: int | None = None) -> Dataset:  # noqa: N802 (TensorFlow's name)
    """Integers drawn from [0, 2^32) without end."""
    return Dataset.random(seed)


def sample_from_datasets(
    datasets: Sequence[Dataset],
    weights: Any = None,
    seed: int | None = None,
    stop_on_empty_dataset: bool = False,
) -> Dataset:
    """At each step the next element of a dataset drawn by `weights`."""
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


def choose_from_datasets(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    """At each step the next element of the dataset whose number `choice_dataset` gives."""
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "Counter",
    "RandomDataset",
    "assert_cardinality",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "enumerate_dataset",
    "get_single_element",
    "group_by_window",
    "ignore_errors",
    "load",
    "map_and_batch",
    "parallel_interleave",
    "prefetch_to_device",
    "sample_from_datasets",
    "save",
    "scan",
    "shuffle_and_repeat",
    "snapshot",
    "take_while",
    "unbatch",
    "unique",
]
