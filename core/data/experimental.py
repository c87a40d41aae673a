"""`tf.data.experimental`: mainly functions that became methods of Dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pinnace.data.access import TFRecordWriter as TFRecordWriter
from pinnace.data.access import at as at
from pinnace.data.access import from_list as from_list
from pinnace.data.access import from_variant as from_variant
from pinnace.data.access import get_next_as_optional as get_next_as_optional
from pinnace.data.access import get_structure as get_structure
from pinnace.data.access import pad_to_cardinality as pad_to_cardinality
from pinnace.data.access import to_variant as to_variant
from pinnace.data.csv_files import CsvRecords
from pinnace.data.dataset import Dataset
from pinnace.data.elements import AUTOTUNE as AUTOTUNE
from pinnace.data.elements import INFINITE as INFINITE_CARDINALITY
from pinnace.data.elements import UNKNOWN as UNKNOWN_CARDINALITY
from pinnace.data.elements import Nest
from pinnace.data.failures import Guarded, raising
from pinnace.data.file_datasets import names_of
from pinnace.data.functions import element_function
from pinnace.data.optionals import Optional as Optional
from pinnace.data.options import AutoShardPolicy as AutoShardPolicy
from pinnace.data.options import AutotuneAlgorithm as AutotuneAlgorithm
from pinnace.data.options import AutotuneOptions as AutotuneOptions
from pinnace.data.options import DistributeOptions as DistributeOptions
from pinnace.data.options import ExternalStatePolicy as ExternalStatePolicy
from pinnace.data.options import OptimizationOptions as OptimizationOptions
from pinnace.data.options import ServiceOptions as ServiceOptions
from pinnace.data.options import ThreadingOptions as ThreadingOptions
from pinnace.data.ready_made import make_batched_features_dataset as make_batched_features_dataset
from pinnace.data.ready_made import make_csv_dataset as make_csv_dataset
from pinnace.data.reducing import Reduced
from pinnace.data.reducing import Reducer as Reducer
from pinnace.data.sql import SqlRows
from pinnace.data.stage import Run, Stage
from pinnace.data.tables import DatasetInitializer as DatasetInitializer
from pinnace.data.tables import index_table_from_dataset as index_table_from_dataset
from pinnace.data.tables import table_from_dataset as table_from_dataset
from pinnace.framework import dtypes
from pinnace.framework.errors import FailedPreconditionError
from pinnace.framework.no_effect import ignored
from pinnace.ops.composites.parsing import parse_example

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

Transformation = Callable[[Dataset], Dataset]


class Counted(Stage):
    """The same elements; a pass with another number of them raises an error."""

    def __init__(self, source: Stage, count: int) -> None:
        super().__init__(source.spec)
        self._source = source
        self._count = count

    @raising
    def elements(self, run: Run) -> Iterator[Any]:
        """The elements; raises if their number differs."""
        seen = 0
        for element in Guarded(self._source.open(run)):
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
        """The asserted number."""
        return self._count


def assert_cardinality(expected_cardinality: int) -> Transformation:
    """Assert the number of elements: a pass with another number raises an error."""
    return lambda dataset: Dataset(
        Counted(dataset.stage, int(expected_cardinality)), dataset.options()
    )


def cardinality(dataset: Dataset) -> Tensor:
    """The number of elements."""
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
    """The distinct elements, in the order of their first occurrence."""
    return lambda dataset: dataset.unique()


def enumerate_dataset(start: int = 0) -> Transformation:
    """(index, element)."""
    return lambda dataset: dataset.enumerate(start)


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """The elements before the first for which `predicate` returns False."""
    return lambda dataset: dataset.take_while(predicate)


def scan(initial_state: Nest, scan_func: Callable[..., Any]) -> Transformation:
    """`Dataset.scan` as a transformation for `apply`."""
    return lambda dataset: dataset.scan(initial_state, scan_func)


def shuffle_and_repeat(
    buffer_size: int, count: int | None = None, seed: int | None = None
) -> Transformation:
    """Shuffle, then repeat."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: int,
    num_parallel_batches: int | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: int | None = None,
) -> Transformation:
    """Map, then batch."""
    why = "num_parallel_calls says how many threads there are"
    ignored("map_and_batch", why, num_parallel_batches=num_parallel_batches)
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(
        batch_size, drop_remainder
    )


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:
    """Collect elements by key; see `Dataset.group_by_window`."""
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
    """Interleave datasets, each read ahead by a thread."""
    ignored(
        "parallel_interleave",
        "elements are made as they are asked for",
        buffer_output_elements=buffer_output_elements,
        prefetch_input_elements=prefetch_input_elements,
    )
    return lambda dataset: dataset.interleave(
        map_func, cycle_length, block_length, AUTOTUNE, not sloppy
    )


def prefetch_to_device(device: str, buffer_size: int | None = None) -> Transformation:
    """Prefetch; the only device is the CPU."""
    del device
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """The same dataset; the only device is the CPU."""
    del target_device, source_device
    return lambda dataset: dataset


def snapshot(path: Any, compression: str | None = "AUTO", **options: Any) -> Transformation:
    """The same elements, stored at `path`."""
    return lambda dataset: dataset.snapshot(path, compression, **options)


def save(
    dataset: Dataset,
    path: Any,
    compression: str | None = None,
    shard_func: Any = None,
    checkpoint_args: Any = None,
) -> None:
    """Write every element into the folder `path`; see `Dataset.save`."""
    dataset.save(path, compression, shard_func, checkpoint_args)


def load(
    path: Any, element_spec: Nest = None, compression: str | None = None, reader_func: Any = None
) -> Dataset:
    """The dataset that `save` wrote."""
    return Dataset.load(path, element_spec, compression, reader_func)


def Counter(start: int = 0, step: int = 1, dtype: Any = dtypes.int64) -> Dataset:  # noqa: N802 (TensorFlow's name)
    """start, start + step, and so on without end."""
    return Dataset.counter(start, step, dtype)


def RandomDataset(  # noqa: N802 (TensorFlow's name)
    seed: int | None = None,
    rerandomize_each_iteration: bool | None = None,
    name: str | None = None,
) -> Dataset:
    """Integers drawn from [0, 2^32) without end."""
    return Dataset.random(seed, rerandomize_each_iteration, name)


def sample_from_datasets(
    datasets: Sequence[Dataset],
    weights: Any = None,
    seed: int | None = None,
    stop_on_empty_dataset: bool = False,
) -> Dataset:
    """Take the next element of a dataset drawn at random by `weights`."""
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


def choose_from_datasets(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    """Take the next element of the dataset whose index is next in `choice_dataset`."""
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


# TensorFlow: a placeholder index that `shard` replaces if the policy is HINT.
SHARD_HINT = -1


class CsvDataset(Dataset):
    """The records of CSV files, a tuple of scalars each.

    Args:
        filenames: one name, several, or a dataset of names.
        record_defaults: per wanted column what stands in for an empty field, or a dtype: then the
            field must not be empty.
        compression_type: "", "GZIP" or "ZLIB".
        buffer_size: accepted.
        header: whether to leave out the first record of each file.
        field_delim: the separator of fields.
        use_quote_delim: whether quotes protect separators and ends of lines.
        na_value: a field that counts as empty.
        select_cols: numbers of the wanted columns, ascending; all if None.
        exclude_cols: numbers of the columns to leave out.

    Raises:
        InvalidArgumentError: in a pass, a record that does not fit.
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: Any = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
        exclude_cols: Sequence[int] | None = None,
    ) -> None:
        ignored(
            "CsvDataset",
            "files are read in blocks of one size, one after the other",
            buffer_size=buffer_size,
        )
        super().__init__(
            CsvRecords(
                names_of(filenames),
                record_defaults,
                compression_type,
                header,
                field_delim,
                use_quote_delim,
                na_value,
                select_cols,
                exclude_cols,
            )
        )


class SqlDataset(Dataset):
    """The rows of a query on an SQLite database, a tuple of scalars each.

    Args:
        driver_name: "sqlite".
        data_source_name: path of the database, opened for reading only.
        query: SQL.
        output_types: a tuple of dtypes, one per column.
    """

    def __init__(
        self, driver_name: Any, data_source_name: Any, query: Any, output_types: Nest
    ) -> None:
        super().__init__(SqlRows(driver_name, data_source_name, query, output_types))


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """One element per key of `key_func`, reduced from its elements; keys ascend."""

    def reduced(dataset: Dataset) -> Dataset:
        key = element_function(key_func, dataset.element_spec, "group_by_reducer", Dataset)
        return Dataset(Reduced(dataset.stage, key, reducer), dataset.options())

    return reduced


def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: Any,
    initial_dist: Any = None,
    seed: int | None = None,
) -> Transformation:
    """(class, element), where some are dropped so that classes are distributed as `target_dist`."""
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


def parse_example_dataset(
    features: Any, num_parallel_calls: Any = 1, deterministic: bool | None = None
) -> Transformation:
    """Batches of Example messages as dictionaries of features; see `io.parse_example`."""
    return lambda dataset: dataset.map(
        lambda messages: parse_example(messages, features), num_parallel_calls, deterministic
    )


def dense_to_ragged_batch(
    batch_size: int, drop_remainder: bool = False, row_splits_dtype: Any = dtypes.int64
) -> Transformation:
    """Batches of tensors of different shapes, as RaggedTensors."""
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


def dense_to_sparse_batch(batch_size: int, row_shape: Any) -> Transformation:
    """Batches of tensors of different shapes, as SparseTensors."""
    return lambda dataset: dataset.sparse_batch(batch_size, row_shape)


def enable_debug_mode() -> None:
    """Does nothing: errors always name the element and the function."""


__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "SHARD_HINT",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "AutotuneOptions",
    "Counter",
    "CsvDataset",
    "DatasetInitializer",
    "DistributeOptions",
    "ExternalStatePolicy",
    "OptimizationOptions",
    "Optional",
    "RandomDataset",
    "Reducer",
    "ServiceOptions",
    "SqlDataset",
    "TFRecordWriter",
    "ThreadingOptions",
    "assert_cardinality",
    "at",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enable_debug_mode",
    "enumerate_dataset",
    "from_list",
    "from_variant",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "load",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "map_and_batch",
    "pad_to_cardinality",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "save",
    "scan",
    "shuffle_and_repeat",
    "snapshot",
    "take_while",
    "to_variant",
    "unbatch",
    "unique",
]
