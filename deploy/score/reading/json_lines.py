"""JSON lines: each line is an instance, as in TF Serving's requests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pinnace.deploy.score.chunks import UNNAMED, Chunk
from pinnace.deploy.score.reading.reader import line_places

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.deploy.score.reading.reader import Opened, RowPosition

_LOOKED_AT = 100  # lines that are read for the names of columns
_B64 = "b64"
_TOLD = 60


class JsonLinesReader:
    """An open file with a JSON value per line; empty lines are skipped."""

    def __init__(self, opened: Opened) -> None:
        self._file = opened.file

    def columns(self) -> list[str] | None:
        """See `Reader.columns`; the names are the keys of the first lines that can be parsed."""
        names: dict[str, None] = {}
        values = rows = 0
        for line in self._lines(0):
            rows += 1
            if rows > _LOOKED_AT:
                break
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if _is_named(row):
                names.update(dict.fromkeys(row))
            else:
                values += 1
        return list(names) if names or not values else None

    def places(self, rows: int) -> list[RowPosition]:
        """See `Reader.places`; the whole file is read for it."""
        return line_places(self._sizes(), 0, rows)

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
        waiting: list[bytes] = []
        for line in self._lines(begin.offset):
            if number == stop:
                break
            waiting.append(line)
            number += 1
            if len(waiting) == rows:
                yield _chunk(first, waiting, wanted, kept)
                waiting, first = [], number
        if waiting:
            yield _chunk(first, waiting, wanted, kept)

    def _lines(self, offset: int) -> Iterator[bytes]:
        self._file.seek(offset)
        for line in self._file:
            if line.strip():
                yield line

    def _sizes(self) -> Iterator[int]:
        """The size of each row in bytes, including empty lines before it."""
        self._file.seek(0)
        size = 0
        for line in self._file:
            size += len(line)
            if line.strip():
                yield size
                size = 0


def _is_named(row: Any) -> bool:
    return isinstance(row, dict) and list(row) != [_B64]


def _chunk(first: int, lines: list[bytes], wanted: Sequence[str], kept: Sequence[str]) -> Chunk:
    names = list(dict.fromkeys([*wanted, *kept]))
    columns: dict[str, list[Any]] = {name: [] for name in names}
    bad: dict[int, str] = {}
    for place, line in enumerate(lines):
        row: Any = {}
        try:
            row = json.loads(line)
            reason = _problem(row, wanted, kept)
        except (ValueError, RecursionError) as error:
            text = line.decode(errors="replace").strip()
            text = text if len(text) <= _TOLD else f"{text[: _TOLD - 3]}..."
            reason = f"it is no JSON: {error}: {text}"
        if reason is not None:
            bad[place] = reason
        for name in names:
            if name == UNNAMED:
                columns[name].append(row)
            else:
                columns[name].append(row.get(name) if isinstance(row, dict) else None)
    return Chunk(
        first,
        len(lines),
        {name: columns[name] for name in wanted},
        {name: columns[name] for name in kept},
        bad,
    )


def _problem(row: Any, wanted: Sequence[str], kept: Sequence[str]) -> str | None:
    if UNNAMED in wanted:
        return "it has names, and the rows before it have none" if _is_named(row) else None
    if not isinstance(row, dict):
        return f"it is a {type(row).__name__}, not an object with {', '.join(wanted)}"
    for name in (*wanted, *kept):
        if name not in row:
            return f"it has no {name!r}; it has: {', '.join(map(str, row)) or 'nothing'}"
    return None
