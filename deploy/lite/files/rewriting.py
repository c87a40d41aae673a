"""A file written again with some fields of its tables changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.deploy.lite.files.flatbuffer import Table, written
from pinnace.deploy.lite.files.parsing import Parsed, parsed
from pinnace.framework.errors import UnimplementedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.deploy.lite.files.parsing import Content

_SLACK = 1 << 16


def rewritten(data: Content, where: str, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The file with other fields.

    Args:
        data: of a .tflite file.
        where: its path, for errors.
        change: of the fields of its Model, in which tables are `Table`s with fields of their own.

    Raises:
        InvalidArgumentError: it is no such file.
        DataLossError: it is damaged.
        UnimplementedError: it has numbers behind its tables, as files of more than 2 GiB have.
    """
    root = parsed(data, where)
    if any(one["offset"] > 1 for one in root.list("buffers")):
        raise UnimplementedError(
            f"{where}: the numbers stand behind the tables, as in files of more than 2 GiB; such a "
            "file is not written again"
        )
    table = _table(root)
    fields: Any = table.fields
    change(fields)
    return written(table, len(data) + _SLACK)


def _table(table: Parsed) -> Table:
    return Table(table.name, {name: _value(value) for name, value in table.fields.items()})


def _value(value: Any) -> Any:
    if isinstance(value, Parsed):
        return _table(value)
    if isinstance(value, list):
        return [_value(one) for one in value]
    return value
