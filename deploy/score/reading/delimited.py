"""CSV files with column names in the first line; `.tsv` files are separated by tabs."""

from __future__ import annotations

import codecs
import csv
from typing import TYPE_CHECKING

from pinnace.deploy.score.chunks import Chunk
from pinnace.deploy.score.reading.reader import RowPosition, damaged
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.deploy.score.reading.reader import Opened

_LONGEST = 1 << 24  # characters of a cell, which may be an image as JSON


class DelimitedReader:
    """An open CSV file.

    Args:
        opened: the file; UTF-8, with or without a byte order mark.
        delimiter: the separator of cells.

    Raises:
        DataLossError: the file has no first line.
        InvalidArgumentError: two columns have the same name.
    """

    def __init__(self, opened: Opened, delimiter: str = ",") -> None:
        self._file = opened.file
        self._where = opened.where
        self._delimiter = delimiter
        csv.field_size_limit(_LONGEST)
        header = next(self._rows(0), None)
        if header is None or header[0] is None:
            damaged(self._where, "it has no line with column names")
        self._names = [name.strip() for name in header[0]]
        self._begin = header[1]
        twice = [name for name in self._names if self._names.count(name) > 1]
        if twice:
            raise InvalidArgumentError(f"{self._where}: two columns are named {twice[0]!r}")

    def columns(self) -> list[str]:
        """See `Reader.columns`."""
        return self._names

    def places(self, rows: int) -> list[RowPosition]:
        """See `Reader.places`; the whole file is read for it."""
        places = [RowPosition(0)]
        begin = self._begin
        for row, (_, end, _) in enumerate(self._rows(self._begin)):
            if row and row % rows == 0:
                places.append(RowPosition(row, begin))
            begin = end
        return places

    def chunks(
        self,
        begin: RowPosition,
        stop: int | None,
        wanted: Sequence[str],
        kept: Sequence[str],
        rows: int,
    ) -> Iterator[Chunk]:
        """See `Reader.chunks`."""
        number = first = begin.row
        waiting: list[tuple[list[str] | None, str]] = []
        for cells, _, reason in self._rows(begin.offset or self._begin):
            if number == stop:
                break
            waiting.append((cells, reason))
            number += 1
            if len(waiting) == rows:
                yield self._chunk(first, waiting, wanted, kept)
                waiting, first = [], number
        if waiting:
            yield self._chunk(first, waiting, wanted, kept)

    def _chunk(
        self,
        first: int,
        lines: list[tuple[list[str] | None, str]],
        wanted: Sequence[str],
        kept: Sequence[str],
    ) -> Chunk:
        bad: dict[int, str] = {}
        rows: list[list[str]] = []
        blank = ["0"] * len(self._names)
        for place, (cells, reason) in enumerate(lines):
            if cells is None or len(cells) != len(self._names):
                bad[place] = reason or (
                    f"it has {len(cells or ())} cells, and there are {len(self._names)} columns"
                )
                rows.append(blank)
            else:
                rows.append(cells)

        def column(name: str) -> list[str]:
            index = self._names.index(name)
            return [row[index] for row in rows]

        return Chunk(
            first,
            len(rows),
            {name: column(name) for name in wanted},
            {name: column(name) for name in kept},
            bad,
            textual=True,
        )

    def _rows(self, offset: int) -> Iterator[tuple[list[str] | None, int, str]]:
        """Yield for each row from an offset its cells, the offset behind it, and any error."""
        self._file.seek(offset)
        at = offset
        problem = ""

        def texts() -> Iterator[str]:
            nonlocal at, problem
            for line in self._file:
                if at == 0:
                    at += len(line)
                    line = line.removeprefix(codecs.BOM_UTF8)
                else:
                    at += len(line)
                try:
                    yield line.decode()
                except UnicodeDecodeError as error:
                    problem = f"it is no UTF-8: {error}"
                    yield line.decode(errors="replace")

        reader = csv.reader(texts(), delimiter=self._delimiter)
        while True:
            cells: list[str] | None
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                cells, problem = None, f"it is no CSV: {error}"
            reason, problem = problem, ""
            if cells == []:  # an empty line
                continue
            yield (None if reason else cells), at, reason
