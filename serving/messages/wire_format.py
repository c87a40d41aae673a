"""Protocol buffers on the wire: the positions of fields, found without parsing them.

Source: protobuf.dev, "Encoding".
"""

from __future__ import annotations

import functools
import re

VARINT, LENGTH = 0, 2  # wire types
FIXED = {1: 8, 5: 4}  # the sizes of two more wire types
_LONGEST_VARINT = 10
_SHORT = 32  # the longest field of a run, in bytes
_MOST = 1024  # the most fields of a run, which take some 50 microseconds


def field_at(data: bytes, begin: int) -> tuple[int, int, int, int] | None:
    """A field's number, wire type, and start and end of its bytes; None for groups or no field."""
    tag, begin = varint_at(data, begin)
    kind = tag & 7
    end = begin
    if kind == LENGTH:
        size, begin = varint_at(data, begin)
        end = begin + size
    elif kind == VARINT:
        _, end = varint_at(data, begin)
    elif kind in FIXED:
        end += FIXED[kind]
    else:
        return None
    return tag >> 3, kind, begin, end


def varint_at(data: bytes, begin: int) -> tuple[int, int]:
    """A number, and where it ends; beyond the end of the data if it is truncated."""
    value = shift = 0
    for i in range(begin, min(begin + _LONGEST_VARINT, len(data))):
        value |= (data[i] & 127) << shift
        if data[i] < 128:
            return value, i + 1
        shift += 7
    return value, len(data)


def end_of_run(data: bytes, begin: int, end: int) -> int:
    """Find the end of a run of short consecutive fields with one number: strings or messages.

    Args:
        data: the encoded message.
        begin: offset of the first field.
        end: offset of the end of the message that holds them.

    Returns:
        The position behind some of them; `begin` if there is no such field.
    """
    tag = data[begin]
    if tag & 0x87 != LENGTH:
        return begin
    found = _run(tag).match(data, begin, end)
    return begin if found is None else found.end()


@functools.cache
def _run(tag: int) -> re.Pattern[bytes]:
    """A pattern for short fields with this tag, which does not backtrack."""
    fields = b"|".join(b"\\x%02x.{%d}" % (size, size) for size in range(_SHORT))
    return re.compile(b"(?>\\x%02x(?>%s)){1,%d}+" % (tag, fields, _MOST), re.DOTALL)
