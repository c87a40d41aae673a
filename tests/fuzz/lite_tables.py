"""Changed numbers in the tables of a flatbuffer: a .tflite file, or its metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.lite.files.flatbuffer import Table
from pinnace.proto.lite_schema import LITE, Schema

if TYPE_CHECKING:
    import random

    from pinnace.deploy.lite.files.parsing import Parsed

_ODD = (0, 1, -1, 2, 3, 7, 100, 127, 128, 1 << 16, (1 << 31) - 1, -(1 << 31), 1 << 40)


def as_table(parsed: Parsed) -> Table:
    """The table that was read, in a form that can be changed and written."""
    return Table(parsed.name, {name: _part(value) for name, value in parsed.fields.items()})


def _part(value: Any) -> Any:
    if hasattr(value, "fields"):
        return as_table(value)
    if isinstance(value, list):
        return [_part(one) for one in value]
    return bytes(value) if isinstance(value, memoryview) else value


def change_table(draw: random.Random, table: Table, schema: Schema = LITE) -> None:
    """Change something in a table, or in a nested one."""
    fields: Any = table.fields
    while fields:
        name = draw.choice(sorted(fields))
        value = fields[name]
        if isinstance(value, Table) and draw.random() < 0.95:
            table, fields = value, value.fields
        elif isinstance(value, list) and value and draw.random() < 0.9:
            inner = draw.choice(value)
            if not isinstance(inner, Table):
                return
            table, fields = inner, inner.fields
        else:
            fields[name] = _other(draw, schema, schema.tables[table.name][name].kind, value)
            return


def _other(draw: random.Random, schema: Schema, kind: str, value: Any) -> Any:
    """Another value of the same kind; None leaves the field out."""
    if draw.random() < 0.1 or value is None or kind in schema.unions:
        return None
    if isinstance(value, Table):
        return None  # if it is changed as a whole, it is omitted
    if kind == "bool":
        return not value
    if kind == "string":
        return draw.choice(("", "x", value * 2))
    if kind == "float32":
        return draw.choice((0.0, -1.0, float("nan"), float("inf"), 1e30))
    if not kind.startswith("["):
        return _within(kind, draw.choice((*_ODD, int(value) + 1, int(value) - 1)))
    inner = kind[1:-1]
    if inner == "uint8":
        return bytes(value)[: draw.randrange(len(value) + 1)]
    if inner not in _WHOLE:
        return list(value)[: draw.randrange(len(value) + 1)]
    array = np.array(value)
    if len(array) and draw.random() < 0.7:
        array[draw.randrange(len(array))] = _within(inner, draw.choice((*_ODD, int(array[0]) + 1)))
        return array
    return array[: draw.randrange(len(array) + 1)] if draw.random() < 0.6 else np.tile(array, 2)


_WHOLE = frozenset({"int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"})


def _within(kind: str, number: int) -> int:
    """A number wrapped around to a type of fewer bits."""
    bits = int(kind.lstrip("uint"))
    number %= 1 << bits
    is_negative = not kind.startswith("u") and number >= 1 << (bits - 1)
    return number - (1 << bits) if is_negative else number
