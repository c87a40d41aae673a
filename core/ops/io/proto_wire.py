"""Fields of protobuf messages, decoded from and encoded to bytes one at a time.

The input is not trusted: a length is checked against the remaining bytes.

Source: Protocol Buffers, "Encoding".
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.framework.errors import DataLossError
from pinnace.storage.varints import read_varint, varint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VARINT, FIXED64, BYTES, START_GROUP, END_GROUP, FIXED32 = 0, 1, 2, 3, 4, 5
# The name of the bytes in errors.
_MESSAGE = "a protobuf message"
# The deepest nesting of groups, the limit of protobuf's own readers.
_DEEPEST = 100


class Kind(NamedTuple):
    """The wire type and encoding of a field's type.

    Attributes:
        wire: the wire type of one value.
        read: converts the wire's value (an int, or bytes for `BYTES` and groups) to the field's.
        write: the value to the bytes that follow the tag.
    """

    wire: int
    read: Callable[[Any], Any]
    write: Callable[[Any], bytes]


def _signed(bits: int) -> Callable[[int], int]:
    half, full = 1 << bits - 1, 1 << bits

    def read(number: int) -> int:
        number &= full - 1
        return number - full if number >= half else number

    return read


def _unsigned(bits: int) -> Callable[[int], int]:
    return lambda number: number & (1 << bits) - 1


def _unzigzag(bits: int) -> Callable[[int], int]:
    def read(number: int) -> int:
        number &= (1 << bits) - 1
        return (number >> 1) ^ -(number & 1)

    return read


def _zigzag(bits: int) -> Callable[[int], bytes]:
    whole = _signed(bits)

    def write(value: int) -> bytes:
        number = whole(int(value))
        return varint(((number << 1) ^ (number >> bits - 1)) & (1 << bits) - 1)

    return write


def _plain_varint(bits: int, *, signed: bool) -> Callable[[Any], bytes]:
    whole = _signed(bits) if signed else _unsigned(bits)
    # A negative number is written in all of its 64 bits.
    return lambda value: varint(whole(int(value)) & 0xFFFFFFFFFFFFFFFF)


def _packed_as(form: str) -> Callable[[Any], bytes]:
    return struct.Struct(form).pack


def _unpacked_as(form: str, raw: str) -> Callable[[int], Any]:
    one, bits = struct.Struct(form), struct.Struct(raw)
    return lambda number: one.unpack(bits.pack(number))[0]


def _fixed(bits: int, *, signed: bool) -> Kind:
    whole = _signed(bits) if signed else _unsigned(bits)
    wire = FIXED32 if bits == 32 else FIXED64

    def write(value: int) -> bytes:
        return (int(value) & (1 << bits) - 1).to_bytes(bits // 8, "little")

    return Kind(wire, whole, write)


def _with_length(value: bytes) -> bytes:
    return varint(len(value)) + value


_TEXT = Kind(BYTES, bytes, _with_length)
# `FieldDescriptorProto.Type` -> how its values are encoded.
KINDS: dict[int, Kind] = {
    1: Kind(FIXED64, _unpacked_as("<d", "<Q"), _packed_as("<d")),
    2: Kind(FIXED32, _unpacked_as("<f", "<I"), _packed_as("<f")),
    3: Kind(VARINT, _signed(64), _plain_varint(64, signed=True)),
    4: Kind(VARINT, _unsigned(64), _plain_varint(64, signed=False)),
    5: Kind(VARINT, _signed(32), _plain_varint(32, signed=True)),
    6: _fixed(64, signed=False),
    7: _fixed(32, signed=False),
    8: Kind(VARINT, bool, lambda value: varint(int(bool(value)))),
    9: _TEXT,
    10: Kind(START_GROUP, bytes, bytes),
    11: _TEXT,
    12: _TEXT,
    13: Kind(VARINT, _unsigned(32), _plain_varint(32, signed=False)),
    14: Kind(VARINT, _signed(32), _plain_varint(32, signed=True)),
    15: _fixed(32, signed=True),
    16: _fixed(64, signed=True),
    17: Kind(VARINT, _unzigzag(32), _zigzag(32)),
    18: Kind(VARINT, _unzigzag(64), _zigzag(64)),
}


def fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Number, wire type and content of each field of a message, in order.

    The content is an int, or bytes for `BYTES` and groups, which keep their tags.

    Raises:
        DataLossError: the bytes are no message.
    """
    at = 0
    while at < len(data):
        start = at
        tag, at = read_varint(data, at, _MESSAGE)
        number, wire = tag >> 3, tag & 7
        if not number or number >= 1 << 29:
            raise DataLossError(f"a protobuf message has a field of number {number}")
        if wire == END_GROUP:
            raise DataLossError("a group of a protobuf message ends that did not begin")
        content, at = _content(data, at, number, wire, 0)
        yield number, wire, data[start:at] if wire == START_GROUP else content


def _content(data: bytes, at: int, number: int, wire: int, depth: int) -> tuple[Any, int]:
    if wire == VARINT:
        return read_varint(data, at, _MESSAGE)
    if wire in {FIXED32, FIXED64}:
        size = 4 if wire == FIXED32 else 8
        _check_left(data, at, size)
        return int.from_bytes(data[at : at + size], "little"), at + size
    if wire == BYTES:
        size, at = read_varint(data, at, _MESSAGE)
        _check_left(data, at, size)
        return data[at : at + size], at + size
    if wire == START_GROUP:
        return _group(data, at, number, depth)
    raise DataLossError(f"field {number} of a protobuf message has wire type {wire}")


def _group(data: bytes, at: int, number: int, depth: int) -> tuple[None, int]:
    """The end of a group."""
    if depth >= _DEEPEST:
        raise DataLossError(f"groups of a protobuf message are deeper than {_DEEPEST}")
    while True:
        tag, at = read_varint(data, at, _MESSAGE)
        if tag & 7 == END_GROUP:
            if tag >> 3 != number:
                raise DataLossError(f"group {number} of a protobuf message ends as {tag >> 3}")
            return None, at
        _, at = _content(data, at, tag >> 3, tag & 7, depth + 1)


def _check_left(data: bytes, at: int, size: int) -> None:
    if size > len(data) - at:
        raise DataLossError(
            f"a field of a protobuf message needs {size} bytes, and {len(data) - at} are left"
        )


def packed_values(data: bytes, kind: Kind) -> Iterator[Any]:
    """The values of a packed field.

    Raises:
        DataLossError: the bytes are cut off.
    """
    at = 0
    while at < len(data):
        content, at = _content(data, at, 0, kind.wire, 0)
        yield kind.read(content)


def written(number: int, kind: Kind, values: list[Any], *, packed: bool) -> bytes:
    """A field with these values, encoded with its tags."""
    if packed:
        body = b"".join(map(kind.write, values))
        return varint(number << 3 | BYTES) + _with_length(body)
    tag = varint(number << 3 | kind.wire)
    end = varint(number << 3 | END_GROUP) if kind.wire == START_GROUP else b""
    return b"".join(tag + kind.write(value) + end for value in values)
