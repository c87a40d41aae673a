"""The bytes of a message as C++ serialises it deterministically: equal messages, equal bytes.

Python's runtime also has a defined order of map entries, but another one: integer keys descend, and
a string is after those that it is a prefix of.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
# The smallest number that takes two bytes.
_TWO_BYTES = 128
# The tags of a string key and of a value in a map entry.
_TEXT_KEY, _VALUE = 10, 18
# The largest field number with a tag of one byte.
_LAST_OF_ONE_BYTE = 15


class _Field(NamedTuple):
    """A field whose messages may contain maps, or that is a map itself.

    Attributes:
        kind: the type of its messages.
        is_map: whether it is a map itself.
        deep: for a map whose values have one field each (a `oneof`, as attributes are): the numbers
            of the fields that may contain maps, each with the tags of its own such fields. A value
            without any of these tags contains no map. None for other fields.
    """

    kind: Descriptor
    is_map: bool
    deep: dict[int, tuple[int, ...]] | None


def canonical(message: Message) -> bytes:
    """Serialise a message with its fields in the order of numbers, its maps in that of keys.

    Args:
        message: any message with map keys that are strings or integers of at least 0.
    """
    kind: Any = message.DESCRIPTOR  # the runtime's own descriptor class, if there is one
    return _sorted(message.SerializeToString(deterministic=True), kind)


def _sorted(data: bytes, kind: Descriptor) -> bytes:
    fields = _fields_with_maps(kind)
    if not fields:
        return data
    parts: list[bytes] = []
    entries: list[tuple[bytes | int, bytes]] = []
    at, size, last = 0, len(data), -1
    while at < size:
        start = at
        # Most numbers are one byte, and this loop reads hundreds of thousands.
        tag, at = (data[at], at + 1) if data[at] < _TWO_BYTES else _varint(data, at)
        if entries and tag != last:
            parts += _values_of(entries)
        last = tag
        wire = tag & 7
        if wire == _BYTES:
            length = data[at]
            length, begin = (length, at + 1) if length < _TWO_BYTES else _varint(data, at)
            at = begin + length
            field = fields.get(tag >> 3)
            if field is None:
                parts.append(data[start:at])
            elif field.is_map:
                entries.append(_entry(data, start, begin, at, field))
            else:  # the order within does not change its length
                parts += data[start:begin], _sorted(data[begin:at], field.kind)
            continue
        if wire == _VARINT:
            _, at = _varint(data, at)
        elif wire == _EIGHT_BYTES:
            at += 8
        elif wire == _FOUR_BYTES:
            at += 4
        parts.append(data[start:at])
    return b"".join(parts + _values_of(entries))


def _values_of(entries: list[tuple[bytes | int, bytes]]) -> list[bytes]:
    entries.sort()
    found = [part for _, part in entries]
    entries.clear()
    return found


def _key(entry: bytes) -> bytes | int:
    """The key of an entry of a map, which is its first field."""
    number, at = _varint(entry, 1)
    return entry[at : at + number] if entry[0] & 7 == _BYTES else number


def _entry(
    data: bytes, start: int, begin: int, end: int, field: _Field
) -> tuple[bytes | int, bytes]:
    """The key and the bytes of a map's entry.

    Args:
        data: the bytes with the entry.
        start: the position of its tag.
        begin: the position of its content.
        end: the position of its end.
        field: the map's field.
    """
    if field.deep is not None and data[begin] == _TEXT_KEY:
        size, text = _varint(data, begin + 1)
        if _is_plain(data, text + size, end, field.deep):
            return data[text : text + size], data[start:end]
    inner = _sorted(data[begin:end], field.kind)
    return _key(inner), data[start:begin] + inner


def _is_plain(data: bytes, at: int, end: int, deep: dict[int, tuple[int, ...]]) -> bool:
    """Whether a value contains no maps: most attributes are shapes, dtypes or numbers.

    Args:
        data: the bytes with the value.
        at: the position of its tag.
        end: the position of its end.
        deep: see `_Field`.
    """
    if at >= end or data[at] != _VALUE:
        return False
    _, at = _varint(data, at + 1)
    if at == end:
        return True
    below = deep.get(_varint(data, at)[0] >> 3)
    return below is None or not any(data.find(tag, at, end) >= 0 for tag in below)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = data[at]
    at += 1
    if value < _TWO_BYTES:
        return value, at
    value &= 127
    shift = 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < _TWO_BYTES:
            return value, at
        shift += 7


@functools.cache
def _fields_with_maps(kind: Descriptor) -> dict[int, _Field]:
    """The fields of a message that contain maps, by number."""
    found: dict[int, _Field] = {}
    for number, inner in _inner_with_maps(kind):
        is_map = inner.GetOptions().map_entry
        found[number] = _Field(inner, is_map, _deep(inner) if is_map else None)
    return found


def _deep(entry: Descriptor) -> dict[int, tuple[int, ...]] | None:
    value = entry.fields_by_name["value"].message_type
    if value is None:
        return {}
    deep = _inner_with_maps(value)
    if deep and not (len(value.oneofs) == 1 and len(value.oneofs[0].fields) == len(value.fields)):
        return None
    below = {number: [below for below, _ in _inner_with_maps(one)] for number, one in deep}
    if any(number > _LAST_OF_ONE_BYTE for numbers in below.values() for number in numbers):
        return None
    return {number: tuple(one << 3 | _BYTES for one in ones) for number, ones in below.items()}


def _inner_with_maps(kind: Descriptor) -> list[tuple[int, Descriptor]]:
    inner = [(field.number, field.message_type) for field in kind.fields]
    return [(number, one) for number, one in inner if one is not None and _has_maps(one, set())]


def _has_maps(kind: Descriptor, seen: set[str]) -> bool:
    if kind.GetOptions().map_entry:
        return True
    if kind.full_name in seen:
        return False
    seen.add(kind.full_name)
    return any(_has_maps(one.message_type, seen) for one in kind.fields if one.message_type)
