"""Unsigned integers in groups of seven bits, least significant first.

Protocol buffers write lengths, and the numbers of fields, this way.
"""

from __future__ import annotations

from pinnace.framework.errors import DataLossError


def varint(value: int) -> bytes:
    """The encoding of `value`, an integer in [0, 2**64)."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field_header(number: int, size: int) -> bytes:
    """The bytes before a length-delimited field of a protocol buffer: its tag and its length.

    Args:
        number: number of the field.
        size: size of its content, in bytes.
    """
    return varint(number << 3 | 2) + varint(size)


def read_varint(data: bytes, at: int, where: str) -> tuple[int, int]:
    """(value, end position) of the number at `at`.

    Args:
        data: bytes that hold it.
        at: its first byte.
        where: name of `data` in error messages.

    Raises:
        DataLossError: `data` ends inside the number, or it is above 2**64 - 1.
    """
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return value, at
        shift += 7
        if shift > 63:
            break
    raise DataLossError(f"{where}: a number at byte {at} is cut off or too large")
