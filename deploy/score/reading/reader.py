"""The interface of a format: its columns, its rows in chunks, and places to begin in the middle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, NoReturn, Protocol

from pinnace.framework.errors import DataLossError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pinnace.deploy.score.chunks import Chunk


@dataclass(frozen=True, slots=True)
class RowPosition:
    """Where rows begin.

    Attributes:
        row: number of the first one, from 0.
        offset: the bytes before it; 0 where the format finds rows by itself.
    """

    row: int = 0
    offset: int = 0


class Reader(Protocol):
    """An open file of rows."""

    def columns(self) -> list[str] | None:
        """The names of its columns; None if its rows are values without names.

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
        """The rows from a place on.

        Args:
            begin: of the first one.
            stop: number of the row before which it ends; None is the end of the file.
            wanted: columns that inputs are made of; `UNNAMED` for the value of a row.
            kept: columns that are carried over.
            rows: most of a chunk; only the last may have fewer.
        """

    def places(self, rows: int) -> list[RowPosition]:
        """Where parts of so many rows begin; the first is the beginning, even of no rows."""


def damaged(where: str, why: object) -> NoReturn:
    """Raise the error for a file that cannot be read to its end."""
    raise DataLossError(f"{where} is damaged or cut short: {why}") from None


def missing_kept(where: str, name: str, names: Sequence[str] | None) -> InvalidArgumentError:
    """The error for `--keep` of a column that is not there."""
    listed = "none, its rows are values without names" if names is None else ", ".join(names)
    return InvalidArgumentError(
        f"{where}: there is no column {name!r} to keep; its columns are: {listed}"
    )


@dataclass(frozen=True, slots=True)
class Opened:
    """An open file, and its name for messages."""

    file: IO[bytes]
    where: str


def evenly(count: int, rows: int) -> list[RowPosition]:
    """The places of a format that finds its rows by their numbers."""
    return [RowPosition(row) for row in range(0, max(count, 1), rows)]


def line_places(sizes: Iterable[int], begin: int, rows: int) -> list[RowPosition]:
    """The places of a format whose rows are found one after another.

    Args:
        sizes: the bytes of each row.
        begin: bytes before the first one.
        rows: of a part.
    """
    places = [RowPosition(0, begin)]
    offset = begin
    for row, size in enumerate(sizes):
        if row and row % rows == 0:
            places.append(RowPosition(row, offset))
        offset += size
    return places
