"""Protocol buffers on the wire: where fields begin and end, without making anything of them.

Source: protobuf.dev, "Encoding".
"""

from __future__ import annotations

import functools
import re

VARINT, LENGTH = 0, 2  # kinds of fields
FIXED = {1: 8, 5: 4}  # the sizes of two more
_LONGEST_VARINT = 10
_SHORT = 32  # bytes of a field in a run
_MOST = 1024  # fields of a run: so many are looked at in some 50 microseconds


def field_at(data: bytes, begin: int) -> tuple[int, int, int, int] | None:
    """Number, kind, and where the bytes of a field begin and end; None for a group or none."""
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
    """A number, and where it ends; beyond the end of the data for one that is cut short."""
    value = shift = 0
    for i in range(begin, min(begin + _LONGEST_VARINT, len(data))):
        value |= (data[i] & 127) << shift
        if data[i] < 128:
            return value, i + 1
        shift += 7
    return value, len(data)


def end_of_run(data: bytes, begin: int, end: int) -> int:
    """Where short fields of one number end that follow each other: texts or messages.

    Args:
        data: that they are in.
        begin: of the first.
        end: of the message that holds them.

    Returns:
        A place behind some of them; `begin` if there stands something else.
    """
    tag = data[begin]
    if tag & 0x87 != LENGTH:
        return begin
    found = _run(tag).match(data, begin, end)
    return begin if found is None else found.end()


@functools.cache
def _run(tag: int) -> re.Pattern[bytes]:
    """A pattern for short fields with this tag. It never tries a field in another way."""
    fields = b"|".join(b"\\x%02x.{%d}" % (size, size) for size in range(_SHORT))
    return re.compile(b"(?>\\x%02x(?>%s)){1,%d}+" % (tag, fields, _MOST), re.DOTALL)
