"""Rewriting of a file with some fields of its tables changed."""

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
    """The file after changes of its fields.

    Args:
        data: the file's content.
        where: its path, for errors.
        change: changes the fields of its Model in place; nested tables are `Table`s.

    Raises:
        InvalidArgumentError: the content is not a .tflite file.
        DataLossError: the file is damaged.
        UnimplementedError: the file has weights outside its tables, as files beyond 2 GiB do.
    """
    root = parsed(data, where)
    if any(one["offset"] > 1 for one in root.list("buffers")):
        raise UnimplementedError(
            f"{where}: its weights are outside its tables, as in files beyond 2 GiB; such a "
            "file cannot be rewritten"
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
