"""Blob sequences: files of byte strings, in which Yggdrasil stores nodes of trees.

A file is `BS`, a version (uint16), a compression (uint8, 1 is gzip) and three zero bytes, then the
blobs, each behind its length (uint32); little-endian. There are no checksums.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import TYPE_CHECKING

from pinnace.framework.errors import DataLossError, InvalidArgumentError, UnimplementedError

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER = struct.Struct("<2sHB3x")
_LENGTH = struct.Struct("<I")
_NEWEST = 1
_GZIP_WINDOW = 31


def blobs(data: bytes, name: str, most: int) -> Iterator[bytes]:
    """The blobs of a file, in order.

    Args:
        data: the whole file.
        name: name of the file, for errors.
        most: bytes that a compressed file may stand for.

    Raises:
        InvalidArgumentError: the file is no blob sequence, or expands to more than `most` bytes.
        UnimplementedError: the file is of a later version, or of another compression.
        DataLossError: the file is damaged, or ends inside of a blob.
    """
    if len(data) < _HEADER.size or data[:2] != b"BS":
        raise InvalidArgumentError(f"{name} is not a blob sequence: it does not begin with 'BS'")
    _, version, compression = _HEADER.unpack_from(data)
    if version > _NEWEST:
        raise UnimplementedError(
            f"{name} is a blob sequence of version {version}; versions up to {_NEWEST} are read"
        )
    if version and compression > 1:
        raise UnimplementedError(f"{name} has compression {compression}; 0 and 1 (gzip) are read")
    body = memoryview(data)[_HEADER.size :]
    if version and compression:
        body = memoryview(_inflated(body, name, most))
    at = 0
    while at < len(body):
        start = at + _LENGTH.size
        end = start + _LENGTH.unpack_from(body, at)[0] if start <= len(body) else start
        if end > len(body):
            raise DataLossError(f"{name} ends inside of the blob at byte {_HEADER.size + at}")
        yield bytes(body[start:end])
        at = end


def _inflated(body: memoryview, name: str, most: int) -> bytes:
    inflate = zlib.decompressobj(_GZIP_WINDOW)
    whole = io.BytesIO()
    left: bytes | memoryview = body
    try:
        while left and not inflate.eof:
            whole.write(inflate.decompress(left, 1 << 20))
            left = inflate.unconsumed_tail
            if whole.tell() > most:
                raise InvalidArgumentError(f"{name} expands to more than {most} bytes")
    except zlib.error as error:
        raise DataLossError(f"{name} is not compressed as stated, or damaged: {error}") from error
    if not inflate.eof:
        raise DataLossError(f"{name} ends inside of its compressed stream")
    return whole.getvalue()
