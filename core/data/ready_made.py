"""Complete pipelines from file patterns: `make_csv_dataset`, `make_batched_features_dataset`."""

from __future__ import annotations

import itertools
from typing import IO, TYPE_CHECKING, Any

from pinnace.data.csv_files import CsvRecords, csv_records
from pinnace.data.dataset import Dataset
from pinnace.data.elements import AUTOTUNE, text_of
from pinnace.data.file_datasets import TFRecordDataset
from pinnace.data.sources import Slices
from pinnace.framework import dtypes
from pinnace.ops.composites.parsing import parse_example
from pinnace.ops.io.gfile import glob
from pinnace.storage.flat_files import decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_INFERRED = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


def _files(pattern: Any, who: str) -> list[str]:
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    found = sorted({name for one in patterns for name in glob(text_of(one, who, "file_pattern"))})
    if not found:
        raise ValueError(f"{who}: no file matches {pattern!r}")
    return found


def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Any = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Batches of CSV records as dictionaries of columns, or (dictionary, label).

    Args:
        file_pattern: one or several patterns of file names.
        batch_size: records in a batch.
        column_names: in the order of the columns; the first file's header if None.
        column_defaults: values or dtypes of the selected columns, in a list or by name; inferred if
            None.
        label_name: the column to give apart.
        select_columns: names or numbers of the wanted columns; all if None.
        field_delim: the separator of fields.
        use_quote_delim: whether quotes protect separators.
        na_value: a field that counts as empty.
        header: whether files begin with names.
        num_epochs: how often to go through the files; without end if None, and then every batch is
            full.
        shuffle: whether to shuffle files and records.
        shuffle_buffer_size: number of buffered records.
        shuffle_seed: as in `Dataset.shuffle`.
        prefetch_buffer_size: batches made ahead of time; AUTOTUNE if None.
        num_parallel_reads: how many files to interleave.
        sloppy: whether the order may change with the time reading takes.
        num_rows_for_inference: number of records from which types are inferred; all if None.
        compression_type: None, "GZIP" or "ZLIB".
        ignore_errors: whether to leave out records that cannot be read.
        encoding: encoding of the header's names.

    Raises:
        ValueError: no file matches, names that are missing or twice, columns that are not there.
    """
    who = "make_csv_dataset"
    files = _files(file_pattern, who)
    dialect = (compression_type, field_delim, use_quote_delim)
    if column_names is None:
        if not header:
            raise ValueError(f"{who}: column_names or header=True is required")
        column_names = _header(files, dialect, encoding)
    names = [str(name) for name in column_names]
    if len(set(names)) != len(names):
        raise ValueError(f"{who}: column names must differ, got {names}")
    chosen = _selected(names, select_columns)
    rows = (
        []
        if isinstance(column_defaults, (list, tuple))
        else _first_rows(files, dialect, header, num_rows_for_inference)
    )
    defaults = _defaults(names, chosen, column_defaults, rows, na_value)
    kept = [names[i] for i in chosen]
    if len(defaults) != len(kept):
        raise ValueError(f"{who}: {len(kept)} defaults are required, got {len(defaults)}")
    if label_name is not None and label_name not in kept:
        raise ValueError(f"{who}: label_name must be one of {kept}, got {label_name!r}")

    def records(name: Any) -> Dataset:
        stage = CsvRecords(
            name, defaults, compression_type, header, field_delim, use_quote_delim, na_value,
            chosen, None,
        )  # fmt: skip
        made = Dataset(stage)
        return made.ignore_errors() if ignore_errors else made

    def named(*columns: Any) -> Any:
        features = dict(zip(kept, columns, strict=True))
        if label_name is None:
            return features
        return features, features.pop(label_name)

    order = (shuffle_buffer_size, shuffle_seed) if shuffle else None
    dataset = _read(files, records, num_parallel_reads, sloppy, order, num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(named)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _defaults(
    names: Sequence[str],
    chosen: Sequence[int],
    given: Any,
    rows: Sequence[Sequence[str]],
    na_value: str,
) -> list[Any]:
    """The defaults of the selected columns: given in order or by name, or inferred."""
    if isinstance(given, (list, tuple)):
        return list(given)
    by_name = dict(given or {})
    return [
        by_name[names[i]]
        if names[i] in by_name
        else _inferred([row[i] for row in rows if i < len(row)], na_value)
        for i in chosen
    ]


def _read(
    files: Sequence[str],
    records: Callable[[Any], Dataset],
    reads: int | None,
    sloppy: bool,
    order: tuple[int, int | None] | None,
    epochs: int | None,
) -> Dataset:
    """The records of files, in order or interleaved, shuffled as `order` says, and repeated."""
    dataset = Dataset(Slices(list(files)))
    if order is not None:
        dataset = dataset.shuffle(len(files), order[1])
    if reads is None or reads == 1:
        dataset = dataset.flat_map(records)
    else:
        dataset = dataset.interleave(records, reads, 1, reads, not sloppy)
    if order is not None:
        dataset = dataset.shuffle(*order)
    return dataset if epochs == 1 else dataset.repeat(epochs)


def _rows(name: str, dialect: tuple[str | None, str, bool]) -> Iterator[list[str]]:
    compression, delimiter, quoted = dialect

    def read(file: IO[bytes]) -> Iterator[list[str]]:
        # Bytes that are not CSV raise when elements are read, not while types are guessed.
        return (record for _, record in csv_records(file, delimiter, quoted) if record is not None)

    return decoded(name, compression or "", "make_csv_dataset", read)


def _header(
    files: Sequence[str], dialect: tuple[str | None, str, bool], encoding: str
) -> list[str]:
    found: list[str] | None = None
    for name in files:
        first = [
            field.encode("latin-1").decode(encoding) for field in next(_rows(name, dialect), [])
        ]
        if found is not None and first != found:
            raise ValueError(
                f"make_csv_dataset: all files must have one header\n"
                f"  {files[0]}: {found}   {name}: {first}"
            )
        found = first
    return found or []


def _selected(names: Sequence[str], select: Sequence[Any] | None) -> list[int]:
    if select is None:
        return list(range(len(names)))
    found = []
    for one in select:
        if isinstance(one, str):
            if one not in names:
                raise ValueError(
                    f"make_csv_dataset: select_columns must be among {list(names)}, got {one!r}"
                )
            found.append(names.index(one))
        else:
            found.append(int(one))
    if len(set(found)) != len(found) or any(not 0 <= n < len(names) for n in found):
        raise ValueError(
            f"make_csv_dataset: select_columns must be different columns, got {list(select)}"
        )
    return sorted(found)


def _first_rows(
    files: Sequence[str], dialect: tuple[str | None, str, bool], header: bool, count: int | None
) -> list[list[str]]:
    rows = (
        row
        for name in files
        for row in itertools.islice(_rows(name, dialect), 1 if header else 0, None)
    )
    return list(itertools.islice(rows, count))


def _inferred(fields: Sequence[str], na_value: str) -> Any:
    """A default of the narrowest type that fits all fields, as TensorFlow infers it."""
    place = 0
    for field in fields:
        if field in {"", na_value}:
            continue
        while place < len(_INFERRED) and not _fits(field, _INFERRED[place]):
            place += 1
    if place == len(_INFERRED):
        return [""]
    kind = _INFERRED[place]
    return kind.numpy.type(0)


def _fits(field: str, kind: dtypes.DType) -> bool:
    try:
        if kind.is_integer:
            return bool(kind.min <= int(field) <= kind.max)
        return float(kind.min) < float(field) < float(kind.max)
    except ValueError:
        return False


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: Mapping[str, Any],
    reader: Any = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Batches of features of Example messages in files, or (features, label).

    Args:
        file_pattern: one or several patterns of file names.
        batch_size: messages in a batch.
        features: as in `parse_example`.
        reader: takes file names and gives a dataset of messages; TFRecordDataset if None.
        label_key: the feature to give apart.
        reader_args: more arguments of `reader`.
        num_epochs: how often to go through the files; without end if None.
        shuffle: whether to shuffle files and messages.
        shuffle_buffer_size: number of buffered messages.
        shuffle_seed: as in `Dataset.shuffle`.
        prefetch_buffer_size: batches made ahead of time; AUTOTUNE if None.
        reader_num_threads: how many files to interleave.
        parser_num_threads: how many threads may parse.
        sloppy_ordering: whether the order may change with the time reading takes.
        drop_final_batch: whether to leave out a last, smaller batch.

    Raises:
        ValueError: no file matches, or there is no feature `label_key`.
    """
    who = "make_batched_features_dataset"
    if label_key is not None and label_key not in features:
        raise ValueError(f"{who}: label_key must be one of {sorted(features)}, got {label_key!r}")
    make = TFRecordDataset if reader is None else reader
    arguments = tuple(reader_args or ())
    order = (shuffle_buffer_size, shuffle_seed) if shuffle else None
    dataset = _read(
        _files(file_pattern, who),
        lambda name: make(name, *arguments),
        reader_num_threads,
        sloppy_ordering,
        order,
        num_epochs,
    )

    def parsed(messages: Any) -> Any:
        found = parse_example(messages, features)
        return found if label_key is None else (found, found.pop(label_key))

    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = dataset.map(parsed, parser_num_threads)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)
