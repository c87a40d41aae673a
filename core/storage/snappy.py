"""Decompression of Snappy's block format, which other writers use in sorted tables."""

from __future__ import annotations

from pinnace.framework.errors import DataLossError
from pinnace.storage.varints import read_varint

# A copy element of three bytes produces at most 64.
_MOST_EXPANSION = 22


def unpack(data: bytes, where: str) -> bytes:
    """Decompress `data`.

    Args:
        data: one compressed block.
        where: its name in error messages.

    Raises:
        DataLossError: `data` is not a compressed block.
    """
    size, at = read_varint(data, 0, where)
    if size > _MOST_EXPANSION * len(data):
        raise DataLossError(f"{where} claims to unpack to {size} bytes, more than it can hold")
    out = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        kind, number = tag & 3, tag >> 2
        if kind == 0:  # bytes as they are
            if number >= 60:
                width = number - 59
                number = int.from_bytes(data[at : at + width], "little")
                at += width
            length = number + 1
            if length > len(data) - at:
                raise DataLossError(f"{where} is cut off, or is not compressed with snappy")
            out += data[at : at + length]
            at += length
        else:  # a copy of what came before
            if kind == 1:
                length, width, high = (number & 7) + 4, 1, number >> 3 << 8
            else:
                length, width, high = number + 1, 2 if kind == 2 else 4, 0
            distance = high | int.from_bytes(data[at : at + width], "little")
            at += width
            if not 0 < distance <= len(out) or at > len(data):
                raise DataLossError(f"{where} is damaged, or is not compressed with snappy")
            start = len(out) - distance
            piece = bytes(out[start : start + length])
            # A copy may reach into what it makes: it repeats.
            out += (piece * (length // len(piece) + 1))[:length]
        if len(out) > size:
            break
    if len(out) != size:
        raise DataLossError(f"{where} unpacks to {len(out)} bytes where {size} are stated")
    return bytes(out)
