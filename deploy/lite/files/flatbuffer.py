"""Tables of a schema as a flatbuffer: whatever a module such as `proto/lite_schema.py` declares."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import flatbuffers
import numpy as np

from pinnace.deploy.program.mapped_weights import pieces
from pinnace.proto import lite_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pinnace.framework.tensor import Array

IDENTIFIER = lite_schema.IDENTIFIER
# From so many bytes on, an array is taken from where it is when the file is written.
_LONG = 1 << 16
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


class Product(NamedTuple):
    """A vector of float32 that is an array times a factor, in float64.

    Attributes:
        array: of at least one axis.
        factor: as `pieces` takes it.
    """

    array: Array
    factor: Array


Vector: TypeAlias = "Sequence[Any] | Array | bytes | Product"


class Flatbuffer:
    """The bytes of a flatbuffer in pieces: tables as they were built, and long vectors as arrays.

    Args:
        tables: the bytes, with room for the vectors that is not filled.
        vectors: where each begins, and its numbers; in order.
    """

    def __init__(self, tables: memoryview, vectors: Sequence[tuple[int, Product | Array]]) -> None:
        self._tables = tables
        self._vectors = vectors

    def __len__(self) -> int:
        return len(self._tables)

    def __iter__(self) -> Iterator[memoryview]:
        """The pieces in order, each only until the next."""
        at = 0
        for start, vector in self._vectors:
            yield self._tables[at:start]
            array, factor = vector if isinstance(vector, Product) else (vector, None)
            for piece in pieces(array, factor):
                yield piece.view(np.uint8).data
            at = start + array.nbytes
        yield self._tables[at:]

    def write_to(self, file: IO[bytes]) -> None:
        """Write it to an open file."""
        for piece in self:
            file.write(piece)

    def whole(self) -> bytes:
        """All of it."""
        file = io.BytesIO()
        self.write_to(file)
        return file.getvalue()


def written(root: Table, size_hint: int, schema: Schema = lite_schema) -> bytes:
    """The flatbuffer whose root is this table.

    Args:
        root: with everything that it refers to.
        size_hint: about how many bytes it will be.
        schema: which declares the tables.
    """
    return built(root, size_hint, schema).whole()


def built(root: Table, size_hint: int, schema: Schema = lite_schema) -> Flatbuffer:
    """The same in pieces, with the arrays that the table refers to as they are.

    Args:
        root: likewise.
        size_hint: likewise.
        schema: likewise.
    """
    writer = _Writer(size_hint, schema)
    builder = writer.builder
    builder.Finish(writer.table(root), file_identifier=schema.IDENTIFIER)
    tables = memoryview(builder.Bytes)[builder.Head() :]
    # They are written from the end to the beginning.
    vectors = [(len(tables) - end, vector) for end, vector in reversed(writer.vectors)]
    return Flatbuffer(tables, vectors)


class _Writer:
    """A builder, and where names, vectors and options stand that are written once for all.

    Attributes:
        vectors: where long ones begin, seen from the end of the file, and their numbers.
    """

    def __init__(self, size_hint: int, schema: Schema) -> None:
        self.schema = schema
        self.vectors: list[tuple[int, Product | Array]] = []
        self.builder: Any = flatbuffers.Builder(0)
        # Its own memory is filled with zeros. Of this the system gives what is written to: the room
        # for long vectors takes none.
        self.builder.Bytes = np.zeros(size_hint, np.uint8).data
        self.builder.head = size_hint
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
        """A vector of bytes, at an address that numbers of any kind may have."""
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
