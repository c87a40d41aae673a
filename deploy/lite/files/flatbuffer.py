"""Tables of a schema as a flatbuffer: whatever a module such as `proto/lite_schema.py` declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import flatbuffers
import numpy as np

from pinnace.proto import lite_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.framework.tensor import Array

IDENTIFIER = lite_schema.IDENTIFIER
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


class Schema(Protocol):
    """A module that `proto/generate_lite.py` has written."""

    @property
    def IDENTIFIER(self) -> bytes:  # noqa: N802 (as the module has it)
        """The bytes 4 to 8 of its files."""

    @property
    def ROOT(self) -> str:  # noqa: N802 (likewise)
        """The table that a file consists of."""

    @property
    def UNIONS(self) -> Mapping[str, tuple[str, ...]]:  # noqa: N802 (likewise)
        """Their tables; the first has the number 1."""

    @property
    def TABLES(self) -> Mapping[str, Mapping[str, lite_schema.Field]]:  # noqa: N802 (likewise)
        """Their fields."""


class Table(NamedTuple):
    """A table's name and its fields; those that are left out have their defaults.

    A field that is None is left out; text, tables and vectors stand as they are.
    """

    name: str
    fields: Mapping[str, Any]


Vector: TypeAlias = "Sequence[Any] | Array | bytes"


def written(root: Table, size_hint: int, schema: Schema = lite_schema) -> bytes:
    """The flatbuffer whose root is this table.

    Args:
        root: with everything that it refers to.
        size_hint: about how many bytes it will be.
        schema: which declares the tables.
    """
    writer = _Writer(size_hint, schema)
    builder = writer.builder
    builder.Finish(writer.table(root), file_identifier=schema.IDENTIFIER)
    return bytes(memoryview(builder.Bytes)[builder.Head() :])


class _Writer:
    """A builder, and where names, vectors and options stand that are written once for all."""

    def __init__(self, size_hint: int, schema: Schema) -> None:
        self.schema = schema
        self.builder: Any = flatbuffers.Builder(size_hint)
        self._known: dict[object, int] = {}

    def table(self, table: Table) -> int:
        """Write a table behind what it refers to; its place."""
        declared = self.schema.TABLES[table.name]
        places: list[tuple[int, int]] = []
        scalars: list[tuple[str, int, Any, Any]] = []
        for name, value in table.fields.items():
            if value is None:
                continue
            slot, kind, default = declared[name]
            if kind in _SCALARS:
                scalars.append((kind, slot, value, default))
            elif kind in self.schema.UNIONS:
                number = self.schema.UNIONS[kind].index(value.name) + 1
                scalars.append(("uint8", slot - 1, number, 0))
                places.append((slot, self.table(value)))
            else:
                places.append((slot, self._part(kind, value)))
        if places:
            return self._table(declared, scalars, places)
        key = (table.name, tuple(scalars))
        return self._once(key, lambda: self._table(declared, scalars, places))

    def _table(
        self,
        declared: Mapping[str, lite_schema.Field],
        scalars: list[tuple[str, int, Any, Any]],
        places: list[tuple[int, int]],
    ) -> int:
        builder = self.builder
        slots = [field.slot for field in declared.values()]
        builder.StartObject(max(slots) + 1 if slots else 0)
        # Wide fields first: less padding.
        widths = _SCALARS
        for kind, slot, value, default in sorted(
            scalars, key=lambda one: -widths[one[0]].bytewidth
        ):
            flags = _SCALARS[kind]
            builder.PrependSlot(flags, slot, flags.py_type(value), flags.py_type(default))
        for slot, place in places:
            builder.PrependUOffsetTRelativeSlot(slot, place, 0)
        return int(builder.EndObject())

    def _part(self, kind: str, value: Any) -> int:
        """A text, a vector or a table."""
        if kind == "string":
            return self._once(("", value), lambda: self.builder.CreateString(value))
        if not kind.startswith("["):
            return self.table(value)
        inner = kind[1:-1]
        if inner == "uint8":
            return _bytes(self.builder, value)
        if inner in _SCALARS:
            array = np.ascontiguousarray(value, inner)
            key = (inner, array.tobytes())
            return self._once(key, lambda: self.builder.CreateNumpyVector(array))
        places = [self._part(inner, one) for one in value]
        self.builder.StartVector(4, len(places), 4)
        for place in reversed(places):
            self.builder.PrependUOffsetTRelative(place)
        return int(self.builder.EndVector())

    def _once(self, key: object, write: Callable[[], int]) -> int:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = int(write())
        return found


def _bytes(builder: Any, values: Vector) -> int:
    """A vector of bytes, at an address that numbers of any kind may have."""
    content = np.frombuffer(values, np.uint8) if isinstance(values, bytes) else np.asarray(values)
    raw = np.ascontiguousarray(content).reshape(-1).view(np.uint8)
    builder.StartVector(1, raw.size, _ALIGNMENT)
    end = int(builder.Head()) - raw.size
    builder.head = end
    builder.Bytes[end : end + raw.size] = raw.data
    return int(builder.EndVector())
