"""Elements from CSV files: one per record, one component per column."""

from __future__ import annotations

import csv
import io
import itertools
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from pinnace.data.elements import Columns, array_of_tensor, whole_number
from pinnace.data.records import Files
from pinnace.framework import dtypes
from pinnace.framework.context import init_scope
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.ops.io.csv import column_of, default_of
from pinnace.storage.flat_files import decoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.data.stage import Run
    from pinnace.framework.dtypes import DType

Record = list[str]
_BLOCK = 256
_TYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)
_WHO = "CsvDataset"


def csv_records(
    file: IO[bytes], delimiter: str, quoted: bool
) -> Iterator[tuple[int, Record | None]]:
    """The last line number and the fields of each record; None for an invalid one."""
    quoting: Any = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    # Latin-1 preserves every byte; encodings are left to the user.
    with io.TextIOWrapper(file, "latin-1", newline="") as text:
        reader = csv.reader(text, delimiter=delimiter, quoting=quoting, strict=quoted)
        while True:
            try:
                record = next(reader)
            except StopIteration:
                return
            except csv.Error:
                yield reader.line_num, None
                return
            yield reader.line_num, record or [""]


class CsvRecords(Files):
    """The records of CSV files (RFC 4180), one scalar per column.

    Args:
        filenames: string tensor, or a Stage of scalar strings.
        defaults: per wanted column what stands in for an empty field, or a dtype, or an empty
            vector: then the field must not be empty.
        compression: "", "GZIP" or "ZLIB".
        header: whether to leave out the first record of each file.
        delimiter: the separator of fields, one character.
        quoted: whether quotes protect separators and ends of lines.
        na_value: a field that counts as empty.
        select: numbers of the wanted columns, ascending; all if None.
        exclude: numbers of the columns to leave out.
    """

    def __init__(
        self,
        filenames: Any,
        defaults: Sequence[Any],
        compression: Any,
        header: Any,
        delimiter: Any,
        quoted: Any,
        na_value: Any,
        select: Sequence[int] | None,
        exclude: Sequence[int] | None,
    ) -> None:
        super().__init__(filenames, compression, _WHO)
        with init_scope():  # values, also where a function of files is traced
            tensors = [default_of(value) for value in defaults]
        self._kinds: tuple[DType, ...] = tuple(one.dtype for one in tensors)
        for kind in self._kinds:
            if kind not in _TYPES:
                raise InvalidArgumentError(
                    f"{_WHO}: a column must be float32, float64, int32, int64 or string, "
                    f"got {kind.name}"
                )
        self._defaults = tuple(np.ravel(array_of_tensor(one)) for one in tensors)
        self._header = bool(header)
        self._delimiter = _one_character(delimiter)
        self._quoted = bool(quoted)
        self._empty = ("", na_value.decode() if isinstance(na_value, bytes) else str(na_value))
        if select is not None and exclude is not None:
            raise InvalidArgumentError(f"{_WHO}: select_cols or exclude_cols, not both")
        self._select = _ascending(select, "select_cols")
        self._exclude = _ascending(exclude, "exclude_cols")
        if self._select is not None and len(self._select) != len(tensors):
            raise InvalidArgumentError(
                f"{_WHO}: one default is required for each of the {len(self._select)} selected "
                f"columns, got {len(tensors)}"
            )
        scalar = Shape(())
        self.spec = tuple(TensorSpec.of(scalar, kind) for kind in self._kinds)
        self.leaves = self.spec

    def blocks(self, run: Run) -> Iterator[Columns]:
        """Columns of records in blocks; an invalid record is one error, at its position."""
        return _Blocks(self, self._records(run))

    def _records(self, run: Run) -> Iterator[tuple[Record, str, int]]:
        for name in self.names(run):
            lines = decoded(name, self._compression, _WHO, self._lines)
            start = 1 if self._header else 0
            for number, record in enumerate(itertools.islice(lines, start, None), start):
                yield record, name, number

    def _lines(self, file: IO[bytes]) -> Iterator[Record]:
        for number, record in csv_records(file, self._delimiter, self._quoted):
            if record is None:
                raise InvalidArgumentError(f"{_WHO}: line {number} is not CSV")
            yield record

    def columns(self, records: Sequence[tuple[Record, str, int]]) -> Columns:
        """The values of records."""
        chosen = [self._chosen(*record) for record in records]
        who = _WHO if len(records) > 1 else f"{_WHO}: {records[0][1]}, record {records[0][2]}"
        fields = [list(column) for column in zip(*chosen, strict=True)]
        parts = zip(fields, self._kinds, self._defaults, strict=True)
        return tuple(
            [
                column_of(column, kind, default, index, self._empty, who)
                for index, (column, kind, default) in enumerate(parts)
            ]
        )

    def _chosen(self, record: Record, name: str, number: int) -> Record:
        if self._select is not None:
            if self._select and self._select[-1] >= len(record):
                self._refuse(record, name, number, f"at least {self._select[-1] + 1}")
            return [record[index] for index in self._select]
        if self._exclude is not None:
            record = [field for i, field in enumerate(record) if i not in self._exclude]
        if len(record) != len(self._kinds):
            self._refuse(record, name, number, str(len(self._kinds)))
        return record

    @staticmethod
    def _refuse(record: Record, name: str, number: int, wanted: str) -> None:
        raise InvalidArgumentError(
            f"{_WHO}: {name}, record {number} must have {wanted} fields, has {len(record)}"
        )


class _Blocks:
    """Converts records to columns block by block; record by record if a block fails."""

    def __init__(self, stage: CsvRecords, records: Iterator[tuple[Record, str, int]]) -> None:
        self._stage = stage
        self._records = records
        self._waiting: Iterator[tuple[Record, str, int]] = iter(())
        self._held: Exception | None = None

    def __iter__(self) -> _Blocks:
        return self

    def __next__(self) -> Columns:
        for record in self._waiting:
            return self._stage.columns([record])
        if self._held is not None:
            error, self._held = self._held, None
            raise error
        taken = []
        try:
            for record in itertools.islice(self._records, _BLOCK):
                taken.append(record)  # noqa: PERF402 (those before an error are kept)
        except Exception as error:
            self._held = error  # after what came before it
        if not taken:
            if self._held is not None:
                return next(self)
            raise StopIteration
        try:
            return self._stage.columns(taken)
        except InvalidArgumentError:
            self._waiting = iter(taken)
            return next(self)


def _ascending(numbers: Sequence[int] | None, name: str) -> tuple[int, ...] | None:
    if numbers is None:
        return None
    found = tuple(int(whole_number(number, _WHO, name, 0)) for number in numbers)
    if list(found) != sorted(set(found)):
        raise InvalidArgumentError(f"{_WHO}: {name} must be ascending, got {list(found)}")
    return found


def _one_character(delimiter: Any) -> str:
    text = delimiter.decode("latin-1") if isinstance(delimiter, bytes) else str(delimiter)
    if len(text) != 1:
        raise InvalidArgumentError(f"{_WHO}: field_delim must be one character, got {text!r}")
    return text
