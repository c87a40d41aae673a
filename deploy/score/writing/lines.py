"""JSON lines and CSV."""

from __future__ import annotations

import csv
import io
import json
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import orjson

from pinnace.deploy.score.writing.writer import json_value, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.deploy.score.fitting import Rows

_NUMPY = orjson.OPT_SERIALIZE_NUMPY


class JsonLinesWriter:
    """Writes an object per line: the shortest exact numbers, and NaN as TF Serving writes it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, count: int, kept: Mapping[str, Any], outputs: Mapping[str, Rows]) -> None:
        """See `Writer.write`."""
        columns = {name: values_of(column) for name, column in {**kept, **outputs}.items()}
        odd = any(_has_odd(column) for column in columns.values())
        dump = _dump_odd if odd else _dump
        lines = [
            dump({name: json_value(name, column[place]) for name, column in columns.items()})
            for place in range(count)
        ]
        self._file.write(b"".join(lines))

    def close(self) -> None:
        """See `Writer.close`; all rows are already written."""

    def abandon(self) -> None:
        """See `Writer.abandon`; no rows are buffered."""


class DelimitedWriter:
    """Writes CSV with a header line; arrays are lists in JSON.

    Args:
        file: the file, open for writing.
        names: the columns' names.
    """

    def __init__(self, file: IO[bytes], names: list[str]) -> None:
        self._file = file
        self._put([names])

    def write(self, count: int, kept: Mapping[str, Any], outputs: Mapping[str, Rows]) -> None:
        """See `Writer.write`."""
        columns = [_cells(name, column) for name, column in {**kept, **outputs}.items()]
        self._put([[column[place] for column in columns] for place in range(count)])

    def close(self) -> None:
        """See `Writer.close`; all rows are already written."""

    def abandon(self) -> None:
        """See `Writer.abandon`; no rows are buffered."""

    def _put(self, rows: list[list[str]]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        self._file.write(text.getvalue().encode("utf-8", "surrogatepass"))


def _cells(name: str, column: Any) -> list[str]:
    values = values_of(column)
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iuf":
        return list(values.astype("U"))
    return [_cell(json_value(name, value)) for value in values]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, float, np.generic)):
        return str(value)
    dump = _dump_odd if _has_odd(value) else _dump
    return dump(value).decode().strip().strip('"')


def _dump(value: Any) -> bytes:
    return orjson.dumps(value, _plain, _NUMPY | orjson.OPT_APPEND_NEWLINE)


def _dump_odd(value: Any) -> bytes:
    return json.dumps(value, default=_plain, ensure_ascii=False).encode("utf-8") + b"\n"


def _has_odd(column: Any) -> bool:
    """Whether a column may hold NaN or infinity, which JSON lacks."""
    if isinstance(column, np.ndarray):
        return column.dtype.kind == "f" and not bool(np.isfinite(column).all())
    if isinstance(column, list):
        return any(_has_odd(one) for one in column)
    return (isinstance(column, float) and not np.isfinite(column)) or _is_long(column)


def _is_long(value: Any) -> bool:
    return isinstance(value, int) and not -(2**63) <= value < 2**64


def _plain(value: Any) -> Any:
    """Convert values that JSON lacks: NumPy's arrays and numbers, dates, decimals."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, bytes):
        return json_value("", value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
