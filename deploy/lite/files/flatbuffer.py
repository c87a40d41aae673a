"""Serialisation of tables as a flatbuffer, by a schema such as `proto/lite.fbs`."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias

import flatbuffers
import numpy as np

from pinnace.deploy.program.mapped_weights import pieces
from pinnace.proto.lite_schema import LITE, Field, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pinnace.framework.tensor import Array

IDENTIFIER = LITE.identifier
# Arrays of at least this many bytes are not copied before the file is written.
_LONG = 1 << 16
# The alignment of buffers, so that readers can use a mapped file in place.
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
    """A table's name and fields; those that are left out have their defaults.

    A field of value None is left out; strings, tables and vectors are nested.
    """

    name: str
    fields: Mapping[str, Any]


class Product(NamedTuple):
    """A float32 vector that is an array times a factor, multiplied in float64 when it is written.

    Attributes:
        array: an array of rank 1 or more.
        factor: see `pieces`.
    """

    array: Array
    factor: Array


Vector: TypeAlias = "Sequence[Any] | Array | bytes | Product"


class Flatbuffer:
    """A flatbuffer in pieces: the tables' bytes, and long vectors as arrays.

    Args:
        tables: the bytes, with gaps for the long vectors.
        vectors: the offset and the contents of each long vector, in order.
    """

    def __init__(self, tables: memoryview, vectors: Sequence[tuple[int, Product | Array]]) -> None:
        self._tables = tables
        self._vectors = vectors

    def __len__(self) -> int:
        return len(self._tables)

    def __iter__(self) -> Iterator[memoryview]:
        """Yield the pieces in order; each is valid until the next one is asked for."""
        at = 0
        for start, vector in self._vectors:
            yield self._tables[at:start]
            array, factor = vector if isinstance(vector, Product) else (vector, None)
            for piece in pieces(array, factor):
                yield piece.view(np.uint8).data
            at = start + array.nbytes
        yield self._tables[at:]

    def write_to(self, file: IO[bytes]) -> None:
        """Write all pieces to an open file."""
        for piece in self:
            file.write(piece)

    def whole(self) -> bytes:
        """All pieces as one bytes object."""
        file = io.BytesIO()
        self.write_to(file)
        return file.getvalue()


def written(root: Table, size_hint: int, schema: Schema = LITE) -> bytes:
    """The flatbuffer of a root table.

    Args:
        root: the root table, with all tables nested in it.
        size_hint: the approximate size in bytes.
        schema: of the file.
    """
    return built(root, size_hint, schema).whole()


def built(root: Table, size_hint: int, schema: Schema = LITE) -> Flatbuffer:
    """The flatbuffer of a root table in pieces, which refer to the table's arrays without a copy.

    Args:
        root: the root table, with all tables nested in it.
        size_hint: the approximate size in bytes.
        schema: of the file.
    """
    writer = _Writer(size_hint, schema)
    builder = writer.builder
    builder.Finish(writer.table(root), file_identifier=schema.identifier)
    tables = memoryview(builder.Bytes)[builder.Head() :]
    # A flatbuffer is written from its end to its beginning.
    vectors = [(len(tables) - end, vector) for end, vector in reversed(writer.vectors)]
    return Flatbuffer(tables, vectors)


class _Writer:
    """A builder, and the offsets of names, vectors and options that are written only once.

    Attributes:
        vectors: the offset of each long vector from the end of the file, and its contents.
    """

    def __init__(self, size_hint: int, schema: Schema) -> None:
        self.schema = schema
        self.vectors: list[tuple[int, Product | Array]] = []
        self.builder: Any = flatbuffers.Builder(0)
        # The builder's own memory would be filled with zeros. Pages of this memory exist only once
        # they are written to, so the gaps for long vectors take none.
        self.builder.Bytes = np.zeros(size_hint, np.uint8).data
        self.builder.head = size_hint
        self._known: dict[object, int] = {}

    def table(self, table: Table) -> int:
        """Write a table behind the objects it refers to, and return its offset."""
        declared = self.schema.tables[table.name]
        places: list[tuple[int, int]] = []
        scalars: list[tuple[str, int, Any, Any]] = []
        for name, value in table.fields.items():
            if value is None:
                continue
            slot, kind, default = declared[name]
            if kind in _SCALARS:
                scalars.append((kind, slot, value, default))
            elif kind in self.schema.unions:
                number = self.schema.unions[kind].index(value.name) + 1
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
        declared: Mapping[str, Field],
        scalars: list[tuple[str, int, Any, Any]],
        places: list[tuple[int, int]],
    ) -> int:
        builder = self.builder
        slots = [field.slot for field in declared.values()]
        builder.StartObject(max(slots) + 1 if slots else 0)
        # Wide fields first, for less padding.
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
        """Write a string, vector or table, and return its offset."""
        if kind == "string":
            return self._once(("", value), lambda: self.builder.CreateString(value))
        if not kind.startswith("["):
            return self.table(value)
        inner = kind[1:-1]
        if inner == "uint8":
            return self._bytes(value)
        if inner in _SCALARS:
            array = np.ascontiguousarray(value, inner)
            key = (inner, array.tobytes())
            return self._once(key, lambda: self.builder.CreateNumpyVector(array))
        places = [self._part(inner, one) for one in value]
        self.builder.StartVector(4, len(places), 4)
        for place in reversed(places):
            self.builder.PrependUOffsetTRelative(place)
        return int(self.builder.EndVector())

    def _bytes(self, values: Vector) -> int:
        """Write a vector of bytes, aligned for elements of any type."""
        builder = self.builder
        long = values if isinstance(values, Product) else None
        array = values.array if isinstance(values, Product) else _array(values)
        builder.StartVector(1, array.nbytes, _ALIGNMENT)
        end = int(builder.Head()) - array.nbytes
        builder.head = end
        if long is None and array.nbytes < _LONG:
            raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            builder.Bytes[end : end + raw.size] = raw.data
        else:
            self.vectors.append((len(builder.Bytes) - end, array if long is None else long))
        return int(builder.EndVector())

    def _once(self, key: object, write: Callable[[], int]) -> int:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = int(write())
        return found


def _array(values: Vector) -> Array:
    if isinstance(values, (bytes, memoryview)):
        return np.frombuffer(values, np.uint8)
    return np.asarray(values)
