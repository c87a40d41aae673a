"""The bytes of a message as C++ serialises it deterministically: equal messages, equal bytes.

Python's runtime promises an order of map entries, too, but another: integer keys descend, and a
text stands after those that begin with it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
# Field number -> the type of a field in which maps are, and whether it is a map itself.
_Fields: TypeAlias = "dict[int, tuple[Descriptor, bool]]"


def canonical(message: Message) -> bytes:
    """The bytes of a message, its fields in the order of their numbers, its maps in that of keys.

    Args:
        message: any; the keys of its maps are texts, or integers that are not negative.
    """
    kind: Any = message.DESCRIPTOR  # the runtime's own class of it, where there is one
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
        tag, at = _varint(data, at)
        if entries and tag != last:
            parts += _values_of(entries)
        last = tag
        wire = tag & 7
        if wire == _BYTES:
            length, begin = _varint(data, at)
            at = begin + length
            if tag >> 3 in fields:
                inner_kind, is_map = fields[tag >> 3]
                inner = _sorted(data[begin:at], inner_kind)
                # The order within does not change its length.
                part = data[start:begin] + inner
                if is_map:
                    entries.append((_key(inner), part))
                else:
                    parts.append(part)
                continue
        elif wire == _VARINT:
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


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = data[at]
    at += 1
    if value < 128:
        return value, at
    value &= 127
    shift = 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


@functools.cache
def _fields_with_maps(kind: Descriptor) -> _Fields:
    found: _Fields = {}
    for field in kind.fields:
        inner = field.message_type
        if inner is not None and _has_maps(inner, set()):
            found[field.number] = inner, inner.GetOptions().map_entry
    return found


def _has_maps(kind: Descriptor, seen: set[str]) -> bool:
    if kind.GetOptions().map_entry:
        return True
    if kind.full_name in seen:
        return False
    seen.add(kind.full_name)
    return any(_has_maps(one.message_type, seen) for one in kind.fields if one.message_type)
