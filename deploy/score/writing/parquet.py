"""Parquet files, written with PyArrow; arrays are lists."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.score.reading.parquet import load_pyarrow
from pinnace.deploy.score.writing.writer import BYTES_ENDING, plain_array
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.deploy.score.fitting import Rows
    from pinnace.framework.specs import TensorSpec

_GROUP_ROWS, _GROUP_BYTES = 1 << 16, 1 << 25


class ParquetWriter:
    """Writes a Parquet file with row groups of at most 65,536 rows or about 32 MiB.

    Args:
        file: the file, open for writing.
        kept: names of the columns that are copied from the source.
        kept_schema: Arrow's schema of these columns, if the source has one.
        outputs: specs of the outputs, for files without rows.
    """

    def __init__(
        self,
        file: IO[bytes],
        kept: list[str],
        kept_schema: Any,
        outputs: Mapping[str, TensorSpec],
    ) -> None:
        self._pa = load_pyarrow()
        self._file = file
        self._kept = kept
        self._kept_schema = kept_schema
        self._outputs = dict(outputs)
        self._schema: Any = None
        self._writer: Any = None
        self._waiting: list[Any] = []
        self._rows = self._bytes = 0

    def write(self, count: int, kept: Mapping[str, Any], outputs: Mapping[str, Rows]) -> None:
        """See `Writer.write`."""
        arrays = [self._kept_column(name, kept[name]) for name in self._kept]
        arrays += [self._output_column(name, rows) for name, rows in outputs.items()]
        batch = self._pa.RecordBatch.from_arrays(arrays, [*self._kept, *outputs])
        self._waiting.append(batch)
        self._rows += count
        self._bytes += batch.nbytes
        if self._rows >= _GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """See `Writer.close`."""
        self._flush()
        if self._writer is None:
            self._begin(self._empty_schema())
        self._writer.close()

    def abandon(self) -> None:
        """See `Writer.abandon`."""
        if self._writer is not None:
            self._writer.is_open = False  # else its destructor would write the file's footer

    def _flush(self) -> None:
        if not self._waiting:
            return
        if self._writer is None:
            self._begin(self._waiting[0].schema)
        batches = [self._fitted(batch) for batch in self._waiting]
        table = self._pa.Table.from_batches(batches, self._schema)
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
        self._waiting, self._rows, self._bytes = [], 0, 0

    def _begin(self, schema: Any) -> None:
        import pyarrow.parquet as pq

        self._schema = schema
        self._writer = pq.ParquetWriter(self._file, schema)

    def _fitted(self, batch: Any) -> Any:
        if batch.schema == self._schema:
            return batch
        try:
            return batch.cast(self._schema)
        except (self._pa.ArrowException, ValueError) as error:
            raise InvalidArgumentError(
                f"the types of the columns differ from those of earlier rows: {error}\n"
                "  Try: --format jsonl"
            ) from None

    def _kept_column(self, name: str, values: Any) -> Any:
        if not isinstance(values, (list, np.ndarray)):
            return values
        if isinstance(values, np.ndarray):
            return self._numbers(plain_array(values), None)
        try:
            return self._pa.array(values)
        except (self._pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            raise InvalidArgumentError(
                f"column {name!r} holds values of several types: {error}\n  Try: --format jsonl"
            ) from None

    def _output_column(self, name: str, rows: Rows) -> Any:
        kind = self._element(name)
        if isinstance(rows, list):
            return self._lists(name, rows, kind)
        return self._numbers(self._leaves(name, plain_array(rows)), kind)

    def _lists(self, name: str, rows: list[Any], kind: Any) -> Any:
        ranks = {row.ndim for row in rows}
        if ranks == {1}:
            offsets = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int32)
            flat = self._leaves(name, plain_array(np.concatenate(rows)))
            return self._pa.ListArray.from_arrays(offsets, self._numbers(flat, kind))
        kept = [self._leaves(name, plain_array(row)).tolist() for row in rows]
        for _ in range(max(ranks)):
            kind = self._pa.list_(kind)
        return self._pa.array(kept, kind)

    def _numbers(self, array: Any, kind: Any) -> Any:
        """An array as a column; further axes become nested lists."""
        flat = array.reshape(-1)
        column = self._pa.array(flat.tolist() if flat.dtype == object else flat, kind)
        for axis in range(array.ndim - 1, 0, -1):
            size = array.shape[axis]
            count = int(np.prod(array.shape[:axis], dtype=np.int64))
            offsets = np.arange(count + 1, dtype=np.int64) * size
            column = self._pa.ListArray.from_arrays(offsets.astype(np.int32), column)
        return column

    def _leaves(self, name: str, array: Any) -> Any:
        """Strings are decoded unless the output's name marks them as bytes."""
        if array.dtype != object or name.endswith(BYTES_ENDING):
            return array
        try:
            texts = [one.decode() if isinstance(one, bytes) else one for one in array.reshape(-1)]
        except UnicodeDecodeError:
            raise InvalidArgumentError(
                f"output {name!r} holds bytes that are not UTF-8, and its name does not end with "
                f"{BYTES_ENDING}\n  Try: --format jsonl"
            ) from None
        found = np.empty(len(texts), object)
        found[:] = texts
        return found.reshape(array.shape)

    def _element(self, name: str) -> Any:
        dtype = self._outputs[name].dtype
        if dtype is dtypes.string:
            return self._pa.binary() if name.endswith(BYTES_ENDING) else self._pa.string()
        return self._pa.from_numpy_dtype(plain_array(np.zeros(0, dtype.numpy)).dtype)

    def _empty_schema(self) -> Any:
        fields = []
        for name in self._kept:
            known = self._kept_schema is not None
            fields.append(
                self._kept_schema.field(name) if known else self._pa.field(name, self._pa.null())
            )
        for name, spec in self._outputs.items():
            kind = self._element(name)
            for _ in range(max(0, len(spec.shape.dims or ()) - 1)):
                kind = self._pa.list_(kind)
            fields.append(self._pa.field(name, kind))
        return self._pa.schema(fields)
