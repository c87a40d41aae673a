"""Large messages, parsed in pieces so that other threads run in between.

Protobuf's parser holds the GIL, for a megabyte of short strings or small numbers some 10 to 20 ms,
in which no other model answers. A message's meaning does not change if its bytes are split between
two fields, and parsed one after the other into the same message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import FieldDescriptor

from pinnace.serving.messages.wire_format import LENGTH, end_of_run, field_at
from pinnace.storage.varints import field_header

if TYPE_CHECKING:
    from google.protobuf.message import Message

_PIECE_BYTES = 2**14
_LOOKS = 64  # fields per level that are examined
_DEEPEST = 16  # nesting depth of messages that are split
_KEY, _VALUE = 1, 2  # the fields of a map entry

_FIXED = {
    FieldDescriptor.TYPE_FLOAT: 4,
    FieldDescriptor.TYPE_FIXED32: 4,
    FieldDescriptor.TYPE_SFIXED32: 4,
    FieldDescriptor.TYPE_DOUBLE: 8,
    FieldDescriptor.TYPE_FIXED64: 8,
    FieldDescriptor.TYPE_SFIXED64: 8,
}
_WHOLE = (
    FieldDescriptor.TYPE_STRING,
    FieldDescriptor.TYPE_BYTES,
    FieldDescriptor.TYPE_GROUP,
)


def merge(message: Message, data: bytes) -> None:
    """Equivalent to `message.MergeFromString(data)`.

    Raises:
        DecodeError: the bytes are not such a message; its content is then undefined.
    """
    if _is_slow(message.DESCRIPTOR, data, 0, len(data), _DEEPEST):
        _merge(message, data, 0, len(data), _DEEPEST)
    else:
        message.MergeFromString(data)


def _is_slow(kind: Any, data: bytes, begin: int, end: int, depth: int) -> bool:
    """Whether a message contains many consecutive small values.

    Large values alone are copied by the parser, which is faster.

    Args:
        kind: the message's descriptor, of one of two classes; their stubs know one.
        data: the bytes that contain the message.
        begin: its start.
        end: its end.
        depth: the nesting depth that is still examined.
    """
    at = small = begin
    for _ in range(_LOOKS):
        if at - small >= _PIECE_BYTES:
            return True
        if at >= end or not depth:
            return False
        found = field_at(data, at)
        if found is None or found[3] > end:
            return False
        number, wire, start, at = found
        if wire != LENGTH or at - start <= _PIECE_BYTES:
            continue
        small = at
        field = kind.fields_by_number.get(number)
        if field is None:
            continue
        if field.message_type is None:
            if field.is_repeated and field.type not in _WHOLE:
                return True
        elif _is_slow(field.message_type, data, start, at, depth - 1):
            return True
    return True


def _merge(message: Any, data: bytes, begin: int, end: int, depth: int) -> None:
    """Parse a part of the data into a message.

    Args:
        message: the message to extend.
        data: whole fields, and nothing else.
        begin: the start of the part.
        end: the end of the part.
        depth: the nesting depth that may still be split.
    """
    fields = message.DESCRIPTOR.fields_by_number
    at = begin
    while at < end and depth:
        if at - begin >= _PIECE_BYTES:
            message.MergeFromString(data[begin:at])
            begin = at
        after = end_of_run(data, at, min(end, begin + 2 * _PIECE_BYTES))
        if after > at:
            at = after
            continue
        found = field_at(data, at)
        if found is None or found[3] > end:
            break  # a group or an invalid message, which the parser handles
        number, kind, start, stop = found
        if kind == LENGTH and stop - start > _PIECE_BYTES and number in fields:
            message.MergeFromString(data[begin:at])
            begin = at
            if _merge_field(message, fields[number], data, start, stop, depth - 1):
                begin = stop
        at = stop
    message.MergeFromString(data[begin:end])


def _merge_field(
    message: Any, field: FieldDescriptor, data: bytes, start: int, stop: int, depth: int
) -> bool:
    """Parse one large field; whether it could be split."""
    if field.message_type is None:
        return _merge_numbers(message, field, data, start, stop)
    inner = getattr(message, field.name)
    if field.message_type.GetOptions().map_entry:
        return _merge_entry(inner, field, data, start, stop, depth)
    if field.is_repeated:
        inner = inner.add()
    else:
        inner.SetInParent()
    _merge(inner, data, start, stop, depth)
    return True


def _merge_entry(
    values: Any, field: FieldDescriptor, data: bytes, start: int, stop: int, depth: int
) -> bool:
    """Parse an entry of a map of messages with string keys."""
    entry: Any = field.message_type
    kinds = entry.fields_by_number
    if kinds[_KEY].type != FieldDescriptor.TYPE_STRING or kinds[_VALUE].message_type is None:
        return False
    parts: dict[int, tuple[int, int]] = {}
    at = start
    while at < stop:
        found = field_at(data, at)
        if found is None or found[3] > stop or found[1] != LENGTH or found[0] in parts:
            return False
        number, _, begin, at = found
        parts[number] = begin, at
    if parts.keys() != {_KEY, _VALUE}:
        return False
    begin, end = parts[_KEY]
    try:
        key = data[begin:end].decode()
    except UnicodeDecodeError:
        return False
    value = values[key]
    value.Clear()  # the last of two entries with the same key counts
    _merge(value, data, *parts[_VALUE], depth)
    return True


def _merge_numbers(
    message: Any, field: FieldDescriptor, data: bytes, start: int, stop: int
) -> bool:
    """Parse a packed list of numbers."""
    if not field.is_repeated or field.type in _WHOLE:
        return False
    size = _FIXED.get(field.type)
    if (stop - start) % (size or 1) or (size is None and data[stop - 1] > 127):
        return False
    while start < stop:
        end = min(start + _PIECE_BYTES, stop)
        while size is None and data[end - 1] > 127:
            end += 1  # to the number's last byte, which is below 0x80
        message.MergeFromString(field_header(field.number, end - start) + data[start:end])
        start = end
    return True
