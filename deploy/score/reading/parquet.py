"""Parquet files, read with PyArrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.score.chunks import Chunk
from pinnace.deploy.score.reading.reader import damaged, evenly
from pinnace.framework.errors import FailedPreconditionError
from pinnace.framework.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.deploy.score.reading.reader import Opened, RowPosition


def load_pyarrow() -> Any:
    """Import PyArrow.

    Raises:
        FailedPreconditionError: PyArrow is not installed.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise FailedPreconditionError(
            f"Parquet files need PyArrow\n  Try: {install_command('score')}"
        ) from None
    return pa


class ParquetReader:
    """An open Parquet file.

    Raises:
        DataLossError: the file is not a complete Parquet file.
    """

    def __init__(self, opened: Opened) -> None:
        pa = load_pyarrow()
        import pyarrow.parquet as pq

        self._where = opened.where
        self._errors = (pa.ArrowException, OSError)
        try:
            self._file = pq.ParquetFile(opened.file, pre_buffer=False)
        except self._errors as error:
            damaged(self._where, error)
        self._schema = self._file.schema_arrow

    def columns(self) -> list[str]:
        """See `Reader.columns`."""
        return list(self._schema.names)

    def places(self, rows: int) -> list[RowPosition]:
        """See `Reader.places`; the file's metadata has the number of rows."""
        return evenly(self._file.metadata.num_rows, rows)

    def schema_of(self, names: Sequence[str]) -> Any:
        """Arrow's schema of the given columns."""
        return load_pyarrow().schema([self._schema.field(name) for name in names])

    def chunks(
        self,
        begin: RowPosition,
        stop: int | None,
        wanted: Sequence[str],
        kept: Sequence[str],
        rows: int,
    ) -> Iterator[Chunk]:
        """See `Reader.chunks`."""
        groups, first = self._groups(begin.row, stop)
        names = list(dict.fromkeys([*wanted, *kept]))
        skipped = begin.row - first
        left = None if stop is None else stop - begin.row
        number = begin.row
        try:
            for batch in _of_size(
                self._file.iter_batches(rows, row_groups=groups, columns=names, use_threads=False),
                skipped,
                left,
                rows,
            ):
                yield Chunk(
                    number,
                    batch.num_rows,
                    {name: _values(batch.column(name)) for name in wanted},
                    {name: batch.column(name) for name in kept},
                )
                number += batch.num_rows
        except self._errors as error:
            damaged(self._where, error)

    def _groups(self, start: int, stop: int | None) -> tuple[list[int], int]:
        """The row groups with the given rows, and the index of their first row."""
        metadata = self._file.metadata
        found: list[int] = []
        first = at = 0
        for index in range(metadata.num_row_groups):
            count = metadata.row_group(index).num_rows
            if at + count > start and (stop is None or at < stop):
                first = at if not found else first
                found.append(index)
            at += count
        return found, first if found else start


def _of_size(batches: Any, skipped: int, left: int | None, rows: int) -> Iterator[Any]:
    """Yield the rows after the skipped ones, at most `left`, in batches of `rows`."""
    pa = load_pyarrow()
    waiting: list[Any] = []
    count = 0
    for batch in batches:
        one = batch
        if skipped:
            over = min(skipped, one.num_rows)
            skipped -= over
            one = one.slice(over)
        if left is not None:
            one = one.slice(0, left)
            left -= one.num_rows
        while one.num_rows:
            piece = one.slice(0, rows - count)
            waiting.append(piece)
            count += piece.num_rows
            one = one.slice(piece.num_rows)
            if count == rows:
                yield _joined(pa, waiting)
                waiting, count = [], 0
        if left == 0:
            break
    if waiting:
        yield _joined(pa, waiting)


def _joined(pa: Any, batches: list[Any]) -> Any:
    if len(batches) == 1:
        return batches[0]
    return pa.concat_batches(batches)


def _values(column: Any) -> Any:
    """An Arrow column as an array of numbers if possible, else as a list of values."""
    pa = load_pyarrow()
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if column.null_count == 0:
        if _is_number(pa, kind):
            return column.to_numpy(zero_copy_only=False)
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return _lists(column)
        if pa.types.is_fixed_size_list(kind):
            inner = _values(column.flatten())
            if isinstance(inner, np.ndarray):
                return inner.reshape((len(column), kind.list_size, *inner.shape[1:]))
    return column.to_pylist()


def _is_number(pa: Any, kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    )


def _lists(column: Any) -> Any:
    """A column of lists: one array if they have equal lengths, else an array per list."""
    inner = _values(column.flatten())
    if not isinstance(inner, np.ndarray):
        return column.to_pylist()
    lengths = np.diff(column.offsets.to_numpy())
    if len(lengths) == 0 or (lengths == lengths[0]).all():
        size = int(lengths[0]) if len(lengths) else 0
        return inner.reshape((len(column), size, *inner.shape[1:]))
    return np.split(inner, np.cumsum(lengths)[:-1])
