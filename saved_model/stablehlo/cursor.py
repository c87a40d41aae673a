"""Reads numbers, counts and sections of MLIR's bytecode."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, TypeVar

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")
_PADDING = 0xCB
_MOST_ALIGNMENT = 1 << 16


def refuse(why: str) -> NoReturn:
    """Raise the error for bytes that are not a valid module.

    Raises:
        InvalidArgumentError: always.
    """
    raise InvalidArgumentError(f"StableHLO module: {why}")


class Cursor:
    """A position in a part of the file. Every length is checked against the remaining bytes.

    Args:
        data: the file.
        start: where the part begins.
        end: where it ends; the file's end if None.
    """

    __slots__ = ("data", "end", "position")

    def __init__(self, data: bytes, start: int = 0, end: int | None = None) -> None:
        self.data = data
        self.position = start
        self.end = len(data) if end is None else end

    @property
    def left(self) -> int:
        """The number of remaining bytes."""
        return self.end - self.position

    def byte(self) -> int:
        """The next byte."""
        if self.position >= self.end:
            refuse("it ends within a section")
        self.position += 1
        return self.data[self.position - 1]

    def take(self, size: int) -> bytes:
        """The next bytes."""
        return self.data[self.skip(size) : self.position]

    def skip(self, size: int) -> int:
        """Skip some bytes; return their position."""
        if size > self.left:
            refuse(f"{size} bytes are announced, but {self.left} are left")
        self.position += size
        return self.position - size

    def part(self, size: int) -> Cursor:
        """The next bytes as a separate part."""
        start = self.skip(size)
        return Cursor(self.data, start, start + size)

    def number(self) -> int:
        """An unsigned number: the trailing zeros of its first byte count further bytes."""
        first = self.byte()
        if first & 1:
            return first >> 1
        if first == 0:
            return int.from_bytes(self.take(8), "little")
        more = (first & -first).bit_length() - 1
        return (first | int.from_bytes(self.take(more), "little") << 8) >> (more + 1)

    def signed(self) -> int:
        """A signed number, whose lowest bit is the sign."""
        value = self.number()
        return (value >> 1) ^ -(value & 1)

    def flagged(self) -> tuple[int, bool]:
        """A number and the flag below it."""
        value = self.number()
        return value >> 1, bool(value & 1)

    def count(self) -> int:
        """The number of items that take at least one byte each."""
        count = self.number()
        if count > self.left:
            refuse(f"{count} entries are announced, but {self.left} bytes are left")
        return count

    def several(self, one: Callable[[], _T]) -> list[_T]:
        """A count, followed by that many items."""
        return [one() for _ in range(self.count())]

    def section(self) -> tuple[int, Cursor]:
        """The kind and content of the section that starts here."""
        kind = self.byte()
        size = self.number()
        if kind & 0x80:
            alignment = self.number()
            if alignment.bit_count() != 1 or alignment > _MOST_ALIGNMENT:
                refuse(f"a section has the alignment {alignment}")
            while self.position % alignment:
                if self.byte() != _PADDING:
                    refuse("a section's padding holds data")
        return kind & 0x7F, self.part(size)
