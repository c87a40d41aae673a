"""The interface of readers: columns, chunks of rows, and positions at which reading can begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, NoReturn, Protocol

from pinnace.framework.errors import DataLossError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pinnace.deploy.score.chunks import Chunk


@dataclass(frozen=True, slots=True)
class RowPosition:
    """The position of a row in a file.

    Attributes:
        row: index of the row, from 0.
        offset: the bytes before it; 0 if the format finds rows by index.
    """

    row: int = 0
    offset: int = 0


class Reader(Protocol):
    """An open file of rows."""

    def columns(self) -> list[str] | None:
        """The names of its columns; None if its rows are unnamed values.

        Raises:
            DataLossError: the file is damaged.
        """

    def chunks(
        self,
        begin: RowPosition,
        stop: int | None,
        wanted: Sequence[str],
        kept: Sequence[str],
        rows: int,
    ) -> Iterator[Chunk]:
        """Yield the rows from a position on.

        Args:
            begin: position of the first row.
            stop: index behind the last row; None for the end of the file.
            wanted: columns for inputs; `UNNAMED` for the value of a row.
            kept: columns that are copied to the results.
            rows: the size of a chunk; only the last one may be smaller.
        """

    def places(self, rows: int) -> list[RowPosition]:
        """Positions at which parts of `rows` rows begin; at least one, even of an empty file."""


def damaged(where: str, why: object) -> NoReturn:
    """Raise the error for a file that cannot be read completely."""
    raise DataLossError(f"{where} is damaged or cut short: {why}") from None


def missing_kept(where: str, name: str, names: Sequence[str] | None) -> InvalidArgumentError:
    """The error for `--keep` with a column that does not exist."""
    listed = "none, its rows are values without names" if names is None else ", ".join(names)
    return InvalidArgumentError(
        f"{where}: there is no column {name!r} to keep; its columns are: {listed}"
    )


@dataclass(frozen=True, slots=True)
class Opened:
    """An open file, and its name in messages."""

    file: IO[bytes]
    where: str


def evenly(count: int, rows: int) -> list[RowPosition]:
    """The positions for a format that finds rows by index."""
    return [RowPosition(row) for row in range(0, max(count, 1), rows)]


def line_places(sizes: Iterable[int], begin: int, rows: int) -> list[RowPosition]:
    """The positions for a format whose rows are read sequentially.

    Args:
        sizes: the size of each row in bytes.
        begin: the bytes before the first row.
        rows: the rows of a part.
    """
    places = [RowPosition(0, begin)]
    offset = begin
    for row, size in enumerate(sizes):
        if row and row % rows == 0:
            places.append(RowPosition(row, offset))
        offset += size
    return places
