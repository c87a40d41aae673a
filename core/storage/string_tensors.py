"""String tensors in bundles: lengths, a checksum of the lengths, then all bytes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import DataLossError
from pinnace.storage.checksum import crc32c, mask
from pinnace.storage.varints import read_varint, varint

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

_BATCH = 1024
_CHECKSUM_BYTES = 4


def encode_strings(elements: Sequence[bytes]) -> tuple[list[bytes], int, int]:
    """(pieces to write in order, their total size in bytes, the checksum to store)."""
    lengths = [len(element) for element in elements]
    crc = crc32c(_words(lengths, "<"))
    checksum = struct.pack("<I", mask(crc))
    crc = crc32c(checksum, crc)
    pieces = [b"".join(map(varint, lengths)), checksum]
    for start in range(0, len(elements), _BATCH):
        piece = b"".join(elements[start : start + _BATCH])
        crc = crc32c(piece, crc)
        pieces.append(piece)
    return pieces, sum(map(len, pieces)), mask(crc)


def decode_strings(
    stored: npt.NDArray[np.uint8], count: int, crc: int | None, order: str, where: str
) -> npt.NDArray[Any]:
    """The elements [count] as an object array of bytes.

    Args:
        stored: all bytes of the tensor.
        count: how many elements its shape has.
        crc: the checksum kept of it; None leaves the bytes unchecked, though not the lengths.
        order: `"<"` or `">"`, the byte order of the bundle.
        where: name of the tensor in error messages.

    Raises:
        DataLossError: the bytes are not those of `count` strings.
    """
    # Each length takes a byte or more, so memory is reserved only for what is there.
    if count > stored.size - _CHECKSUM_BYTES:
        raise DataLossError(f"{where}: {count} strings do not fit into {stored.size} bytes")
    lengths, at = _lengths(stored, count, where)
    start = at + _CHECKSUM_BYTES
    if start + sum(lengths) != stored.size:
        raise DataLossError(
            f"{where}: {count} strings take {start + sum(lengths)} bytes, {stored.size} are stored"
        )
    checksum = stored[at:start].tobytes()
    actual = crc32c(_words(lengths, order))
    if mask(actual) != struct.unpack(order + "I", checksum)[0]:
        raise DataLossError(f"{where}: the lengths of the strings do not match their checksum")
    if crc is not None and mask(crc32c(stored[start:], crc32c(checksum, actual))) != crc:
        raise DataLossError(f"{where}: the strings do not match their checksum")
    view = stored.data
    elements = np.empty(count, object)
    for index, length in enumerate(lengths):
        elements[index] = view[start : start + length].tobytes()
        start += length
    return elements


def _lengths(stored: npt.NDArray[np.uint8], count: int, where: str) -> tuple[list[int], int]:
    """The lengths, and the position where they end."""
    if not count:
        return [], 0
    short: npt.NDArray[Any] = stored[:count]
    if short.max() < 0x80:
        return short.tolist(), count
    # The last byte of each number is below 0x80.
    ends = np.flatnonzero(stored[: 10 * count] < 0x80)
    if ends.size < count:
        raise DataLossError(f"{where}: the lengths of the strings are cut off")
    data = stored[: int(ends[count - 1]) + 1].tobytes()
    lengths = []
    at = 0
    for _ in range(count):
        length, at = read_varint(data, at, where)
        lengths.append(length)
    return lengths, at


def _words(lengths: list[int], order: str) -> bytes:
    """The bytes checksummed for lengths: four each, eight from 2**32 on."""
    if not lengths or max(lengths) < 1 << 32:
        return np.array(lengths, order + "u4").tobytes()
    return b"".join(
        struct.pack(order + ("I" if length < 1 << 32 else "Q"), length) for length in lengths
    )
