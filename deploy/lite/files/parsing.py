"""Parsing of flatbuffers by the schema `proto/lite.fbs`, with every offset checked.

Vectors of numbers are views into the file. The size of all other objects is limited by the file's
size, so that overlapping parts of a crafted file do not add up.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from pinnace.framework.errors import DataLossError, InvalidArgumentError
from pinnace.proto.lite_schema import LITE, Schema

if TYPE_CHECKING:
    from collections.abc import Mapping


Content: TypeAlias = "bytes | memoryview"

_SCALARS = {
    "bool": np.dtype("?"),
    "int8": np.dtype("i1"),
    "uint8": np.dtype("u1"),
    "int16": np.dtype("<i2"),
    "uint16": np.dtype("<u2"),
    "int32": np.dtype("<i4"),
    "uint32": np.dtype("<u4"),
    "int64": np.dtype("<i8"),
    "uint64": np.dtype("<u8"),
    "float32": np.dtype("<f4"),
}
_FORMATS = {"bool": "<B", "int8": "<b", "uint8": "<B", "int16": "<h", "uint16": "<H"}
_FORMATS |= {"int32": "<i", "uint32": "<I", "int64": "<q", "uint64": "<Q", "float32": "<f"}
# The bytes of the allowance that an entry takes beside its own bytes.
_ENTRY = 4
_SLACK = 4096
_DEPTH = 16  # nesting of tables; the schema's own nesting is less


@dataclass(frozen=True, slots=True, eq=False)
class Parsed:
    """A table of the file.

    Attributes:
        name: the table's name in the schema; for a union, that of its member.
        fields: the fields that are present: numbers, strings, tables, vectors.
        schema: of the file.
    """

    name: str
    fields: Mapping[str, Any]
    schema: Schema = LITE

    def __getitem__(self, name: str) -> Any:
        """A field's value; if absent, the default of a number and None for others."""
        found = self.fields.get(name)
        if found is None:
            field = self.schema.tables[self.name][name]
            if field.kind in _SCALARS:
                return bool(field.default) if field.kind == "bool" else field.default
        return found

    def list(self, name: str) -> Any:
        """A vector; empty if it is absent."""
        found = self.fields.get(name)
        return () if found is None else found


def parsed(data: Content, where: str, schema: Schema = LITE) -> Parsed:
    """Parse a file, and return its root table.

    Args:
        data: the file's content.
        where: its path, for errors.
        schema: of the file.

    Raises:
        InvalidArgumentError: the file has another identifier.
        DataLossError: the file is damaged.
    """
    if len(data) < 8 or bytes(data[4:8]) != schema.identifier:
        kind = ".tflite file" if schema is LITE else "metadata of a .tflite file"
        raise InvalidArgumentError(
            f"{where} is not a {kind}: its bytes 4 to 8 must be {schema.identifier.decode()}"
        )
    return _Parser(data, where, schema).root()


class _Parser:
    """A file, and the allowance for objects made from it."""

    def __init__(self, data: Content, where: str, schema: Schema) -> None:
        self.data = data
        self.schema = schema
        self.where = where
        self.size = len(data)
        self.left = self.size + _SLACK
        self.known: dict[tuple[str, int], Any] = {}

    def damaged(self, what: str) -> NoReturn:
        raise DataLossError(f"{self.where} is damaged: {what}")

    def root(self) -> Parsed:
        return self.table(self.schema.root, self.offset(0, "the root"), 0)

    def number(self, kind: str, at: int, what: str) -> Any:
        form = _FORMATS[kind]
        if at < 0 or at + struct.calcsize(form) > self.size:
            self.damaged(f"{what} lies outside the file")
        (found,) = struct.unpack_from(form, self.data, at)
        return bool(found) if kind == "bool" else found

    def offset(self, at: int, what: str) -> int:
        """The target of the offset at `at`."""
        found = self.number("uint32", at, what)
        if found == 0 or at + found >= self.size:
            self.damaged(f"{what} lies outside the file")
        return int(at + found)

    def take(self, size: int, what: str) -> None:
        self.left -= size
        if self.left < 0:
            self.damaged(f"its parts overlap ({what})")

    def table(self, name: str, at: int, depth: int) -> Parsed:
        key = (name, at)
        found = self.known.get(key)
        if found is None:
            if depth > _DEPTH:
                self.damaged(f"{name} is nested too deeply")
            found = self.known[key] = self._table(name, at, depth)
        return found

    def _table(self, name: str, at: int, depth: int) -> Parsed:
        places = self._places(name, at)
        fields: dict[str, Any] = {}
        for field, (slot, kind, _) in self.schema.tables[name].items():
            place = places[slot] if slot < len(places) else 0
            if not place:
                continue
            what = f"{name}.{field}"
            if kind in _SCALARS:
                fields[field] = self.number(kind, at + place, what)
            elif kind in self.schema.unions:
                before = places[slot - 1] if slot - 1 < len(places) else 0
                which = self.number("uint8", at + before, what) if before else 0
                tables = self.schema.unions[kind]
                if 0 < which <= len(tables):  # tables of newer schemas are ignored
                    inner = self.offset(at + place, what)
                    fields[field] = self.table(tables[which - 1], inner, depth + 1)
            else:
                fields[field] = self._part(kind, self.offset(at + place, what), what, depth)
        return Parsed(name, fields, self.schema)

    def _places(self, name: str, at: int) -> tuple[int, ...]:
        """The offsets of a table's fields from its beginning; 0 for absent fields."""
        start = at - self.number("int32", at, name)
        size = self.number("uint16", start, name)
        if size < 4 or size % 2 or start < 0 or start + size > self.size:
            self.damaged(f"{name} has an invalid vtable")
        self.take(_ENTRY, name)
        count = (size - 4) // 2
        # Fields of newer schemas are ignored.
        known = self.schema.tables[name].values()
        most = max((field.slot for field in known), default=-1) + 1
        return struct.unpack_from(f"<{min(count, most)}H", self.data, start + 4)

    def _part(self, kind: str, at: int, what: str, depth: int) -> Any:
        """A string, a vector or a table."""
        if kind == "string":
            return self._text(at, what)
        if not kind.startswith("["):
            return self.table(kind, at, depth + 1)
        key = (kind, at)
        if key not in self.known:
            self.known[key] = self._vector(kind[1:-1], at, what, depth)
        return self.known[key]

    def _vector(self, inner: str, at: int, what: str, depth: int) -> Any:
        count = self.number("uint32", at, what)
        dtype = _SCALARS.get(inner)
        width = 4 if dtype is None else dtype.itemsize
        if at + 4 + count * width > self.size:
            self.damaged(f"{what} has {count} entries, more than fit in the file")
        if inner == "uint8":
            return memoryview(self.data)[at + 4 : at + 4 + count]
        if dtype is not None:
            return np.frombuffer(self.data, dtype, count, at + 4)
        self.take(_ENTRY * count, what)
        places = [self.offset(at + 4 + 4 * index, what) for index in range(count)]
        if inner == "string":
            return [self._text(place, what) for place in places]
        return [self.table(inner, place, depth + 1) for place in places]

    def _text(self, at: int, what: str) -> str:
        key = ("string", at)
        if key not in self.known:
            count = self.number("uint32", at, what)
            if at + 4 + count > self.size:
                self.damaged(f"{what} is a string of {count} bytes, more than fit in the file")
            self.take(count, what)
            text = bytes(self.data[at + 4 : at + 4 + count])
            self.known[key] = text.decode("utf-8", "backslashreplace")
        return self.known[key]  # type: ignore[no-any-return]
