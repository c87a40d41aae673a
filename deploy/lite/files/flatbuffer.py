"""Tables of a schema as a flatbuffer: whatever `proto/lite_schema.py` declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import flatbuffers
import numpy as np

from pinnace.framework.tensor import Array
from pinnace.proto import lite_schema

IDENTIFIER = b"TFL3"
# A buffer begins at such an address, so that a reader that maps the file may use it in place.
_ALIGNMENT = 16
_SCALARS: Any = {
    name: getattr(flatbuffers.number_types, f"{flag}Flags")
    for name, flag in (
        ("bool", "Bool"),
        ("int8", "Int8"),
        ("uint8", "Uint8"),
        ("int16", "Int16"),
        ("uint16", "Uint16"),
        ("int32", "Int32"),
        ("uint32", "Uint32"),
        ("int64", "Int64"),
        ("uint64", "Uint64"),
        ("float32", "Float32"),
    )
}


class Table(NamedTuple):
    """A table's name and its fields; those that are left out have their defaults.

    A field that is None is left out; text, tables and vectors stand as they are.
    """

    name: str
    fields: Mapping[str, Any]


Vector: TypeAlias = "Sequence[Any] | Array | bytes"


def written(root: Table, size_hint: int) -> bytes:
    """The flatbuffer whose root is this table.

    Args:
        root: with everything that it refers to.
        size_hint: about how many bytes it will be.
    """
    builder = flatbuffers.Builder(size_hint)
    builder.Finish(_table(builder, root), file_identifier=IDENTIFIER)
    return bytes(memoryview(builder.Bytes)[builder.Head() :])


def _table(builder: Any, table: Table) -> int:
    """Write a table behind what it refers to; its place."""
    declared = lite_schema.TABLES[table.name]
    places: list[tuple[int, int]] = []
    scalars: list[tuple[str, int, Any, Any]] = []
    for name, value in table.fields.items():
        if value is None:
            continue
        slot, kind, default = declared[name]
        if kind in _SCALARS:
            scalars.append((kind, slot, value, default))
        elif kind in lite_schema.UNIONS:
            number = lite_schema.UNIONS[kind].index(value.name) + 1
            scalars.append(("uint8", slot - 1, number, 0))
            places.append((slot, _table(builder, value)))
        elif kind == "string":
            places.append((slot, builder.CreateString(value)))
        elif kind.startswith("["):
            places.append((slot, _vector(builder, kind[1:-1], value)))
        else:
            places.append((slot, _table(builder, value)))
    slots = [field.slot for field in declared.values()]
    builder.StartObject(max(slots) + 1 if slots else 0)
    # Wide fields first: less padding.
    for kind, slot, value, default in sorted(scalars, key=lambda one: -_SCALARS[one[0]].bytewidth):
        flags = _SCALARS[kind]
        builder.PrependSlot(flags, slot, flags.py_type(value), flags.py_type(default))
    for slot, place in places:
        builder.PrependUOffsetTRelativeSlot(slot, place, 0)
    return int(builder.EndObject())


def _vector(builder: Any, kind: str, values: Vector) -> int:
    if kind == "uint8":
        return _bytes(builder, values)
    if kind in _SCALARS:
        return int(builder.CreateNumpyVector(np.ascontiguousarray(values, kind)))
    if kind == "string":
        places = [builder.CreateString(value) for value in values]
    else:
        places = [_table(builder, value) for value in values]
    builder.StartVector(4, len(places), 4)
    for place in reversed(places):
        builder.PrependUOffsetTRelative(place)
    return int(builder.EndVector())


def _bytes(builder: Any, values: Vector) -> int:
    """A vector of bytes, at an address that numbers of any kind may have."""
    content = np.frombuffer(values, np.uint8) if isinstance(values, bytes) else np.asarray(values)
    raw = content.reshape(-1).view(np.uint8)
    builder.StartVector(1, raw.size, _ALIGNMENT)
    end = int(builder.Head()) - raw.size
    builder.head = end
    builder.Bytes[end : end + raw.size] = memoryview(raw)
    return int(builder.EndVector())
