"""The tables of a file: strings, op names, attributes, types and properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pinnace.framework.errors import UnimplementedError
from pinnace.saved_model.stablehlo.attributes import (
    decode_builtin_attribute,
    decode_vhlo_attribute,
)
from pinnace.saved_model.stablehlo.cursor import Cursor, refuse
from pinnace.saved_model.stablehlo.types import OtherType, decode_builtin_type, decode_vhlo_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.saved_model.stablehlo.attributes import Attribute
    from pinnace.saved_model.stablehlo.types import Type

MAGIC = b"ML\xefR"
_NEWEST = 6
_MOST_PRODUCER = 256
# The depth of nested attributes and types, which also ends cycles.
_DEPTH = 64
STRINGS, DIALECTS, ENTRIES, OFFSETS, PROGRAM = range(5)
_PROPERTIES = 8

_Place: TypeAlias = "tuple[str, bool, int, int]"


class Tables:
    """The tables whose entries the ops of a file refer to by number.

    Args:
        data: the file.

    Attributes:
        version: the version of the bytecode.
        producer: the producer, as the file names it.
        op_names: with their dialects.
        program: the section of the ops.

    Raises:
        InvalidArgumentError: the bytes are not MLIR bytecode.
        UnimplementedError: its version is too new.
    """

    def __init__(self, data: bytes) -> None:
        if data[:4] != MAGIC:
            refuse("the bytes are not MLIR bytecode")
        cursor = Cursor(data, len(MAGIC))
        self.version = cursor.number()
        if self.version > _NEWEST:
            raise UnimplementedError(
                f"StableHLO module: it is MLIR bytecode of version {self.version}; "
                f"{_NEWEST} is the newest that is supported\n  Try: a module written for an older "
                "version of StableHLO"
            )
        end = data.find(b"\0", cursor.position, cursor.position + _MOST_PRODUCER)
        if end < 0:
            refuse("its producer is not named")
        self.producer = data[cursor.position : end].decode("utf-8", "replace")
        cursor.position = end + 1
        sections: dict[int, Cursor] = {}
        while cursor.left:
            kind, content = cursor.section()
            if kind in sections or kind > _PROPERTIES:
                refuse(f"section {kind} is repeated or unknown")
            sections[kind] = content
        for kind in (STRINGS, DIALECTS, ENTRIES, OFFSETS, PROGRAM):
            if kind not in sections:
                refuse(f"section {kind} is missing")
        self.program = sections[PROGRAM]
        self._data = data
        self._texts = _strings(sections[STRINGS])
        self._properties = _properties(sections.get(_PROPERTIES))
        self._dialects: list[str] = []
        self.op_names: list[str] = []
        self._read_dialects(sections[DIALECTS])
        self._attributes: list[_Place] = []
        self._types: list[_Place] = []
        self._read_offsets(sections[OFFSETS], sections[ENTRIES])
        self._known_attributes: dict[int, Attribute] = {}
        self._known_types: dict[int, Type] = {}

    def text(self, index: int) -> str:
        """A string."""
        if index >= len(self._texts):
            refuse(f"it has no string {index}")
        return self._texts[index].decode("utf-8", "replace")

    def properties(self, index: int) -> Cursor:
        """The properties of an op."""
        if index >= len(self._properties):
            refuse(f"it has no properties {index}")
        return Cursor(self._data, *self._properties[index])

    def attribute(self, index: int, depth: int = 0) -> Attribute:
        """Return an attribute, decoded once.

        Args:
            index: its number.
            depth: the depth of its nesting.
        """
        if index not in self._known_attributes:
            dialect, custom, start, end = self._place(self._attributes, index, depth, "attribute")
            cursor = Cursor(self._data, start, end)
            found: Attribute
            if dialect not in {"vhlo", "builtin"} or not custom:
                # Attributes of other dialects, such as shardings, are not needed.
                found = OtherType(f"attribute of {dialect}")
            else:
                decode = decode_vhlo_attribute if dialect == "vhlo" else decode_builtin_attribute
                found = decode(self, cursor, depth + 1)
                self._check_end(cursor)
            self._known_attributes[index] = found
        return self._known_attributes[index]

    def type(self, index: int, depth: int = 0) -> Type:
        """Return a type, decoded once.

        Args:
            index: its number.
            depth: the depth of its nesting.
        """
        if index not in self._known_types:
            dialect, custom, start, end = self._place(self._types, index, depth, "type")
            cursor = Cursor(self._data, start, end)
            found: Type
            if dialect not in {"vhlo", "builtin"} or not custom:
                found = OtherType(f"type of {dialect}")
            else:
                decode = decode_vhlo_type if dialect == "vhlo" else decode_builtin_type
                found = decode(self, cursor, depth + 1)
                self._check_end(cursor)
            self._known_types[index] = found
        return self._known_types[index]

    def _place(self, table: list[_Place], index: int, depth: int, what: str) -> _Place:
        if index >= len(table):
            refuse(f"it has no {what} {index}")
        if depth > _DEPTH:
            refuse(f"{what}s are nested too deeply, or in a cycle")
        return table[index]

    @staticmethod
    def _check_end(cursor: Cursor) -> None:
        if cursor.left:
            refuse("an attribute or a type is longer than its content")

    def _groups(self, cursor: Cursor, total: int | None) -> Iterator[str]:
        """Yield the dialect of each entry of a table, which is grouped by dialects.

        Args:
            cursor: the table.
            total: the number of entries; None reads to the table's end.
        """
        done = 0
        while cursor.left if total is None else done < total:
            dialect, count = cursor.number(), cursor.count()
            if dialect >= len(self._dialects) or not count:
                refuse("a group of a table is damaged")
            if total is not None and done + count > total:
                refuse("a group of a table is damaged")
            for _ in range(count):
                yield self._dialects[dialect]
            done += count

    def _read_dialects(self, cursor: Cursor) -> None:
        for _ in range(cursor.count()):
            if self.version < 1:
                self._dialects.append(self.text(cursor.number()))
                continue
            index, versioned = cursor.flagged()
            self._dialects.append(self.text(index))
            if versioned:
                cursor.section()
        if self.version >= 4:
            cursor.number()  # the total number of op names
        for dialect in self._groups(cursor, None):
            index = cursor.number() if self.version < 5 else cursor.flagged()[0]
            self.op_names.append(f"{dialect}.{self.text(index)}")

    def _read_offsets(self, cursor: Cursor, entries: Cursor) -> None:
        attributes, types = cursor.number(), cursor.number()
        if attributes + types > cursor.left:
            refuse("it has more attributes and types than their table holds")
        position = entries.position
        for table, count in ((self._attributes, attributes), (self._types, types)):
            for dialect in self._groups(cursor, count):
                size, custom = cursor.flagged()
                if size > entries.end - position:
                    refuse("an attribute or a type extends beyond its section")
                table.append((dialect, custom, position, position + size))
                position += size


def _strings(cursor: Cursor) -> list[bytes]:
    # The lengths are in reverse order; each includes the terminating NUL.
    sizes = cursor.several(cursor.number)
    if sum(sizes) != cursor.left:
        refuse("the lengths of its strings do not add up")
    return [cursor.take(size)[:-1] for size in reversed(sizes)]


def _properties(cursor: Cursor | None) -> list[tuple[int, int]]:
    if cursor is None or not cursor.left:
        return []
    found = []
    for _ in range(cursor.count()):
        size = cursor.number()
        start = cursor.skip(size)
        found.append((start, start + size))
    return found
