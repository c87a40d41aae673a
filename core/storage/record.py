"""TFRecord files: records of bytes, each with two checksums.

A record is its length (uint64), the masked CRC-32C of those eight bytes, the bytes, and their
masked CRC-32C, all little-endian. With `GZIP` or `ZLIB` the whole file is compressed.
"""

from __future__ import annotations

import os
import stat
import struct
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

from pinnace.framework.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
)
from pinnace.storage.checksum import masked_crc32c
from pinnace.storage.system_errors import explain, explained

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from pinnace.storage.atomic import Content, StrPath

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
_CHUNK = 1 << 20
# Compressed bytes read at a time. Small, since bytes after the end of a stream are copied.
_PIECE = 1 << 14
# Smaller records are joined and written at once rather than in three parts.
_SMALL = 1 << 16
# zlib's window bits: 15 for a zlib header, plus 16 for gzip.
_WINDOWS = {"GZIP": 31, "ZLIB": 15}
# The best compression of deflate: 258 bytes from two bits.
_MOST_EXPANSION = 1032


def _window(compression: str | None) -> int | None:
    if not compression:
        return None
    if compression not in _WINDOWS:
        raise InvalidArgumentError(
            f"TFRecord: compression must be None, 'GZIP' or 'ZLIB', got {compression!r}"
        )
    return _WINDOWS[compression]


class RecordWriter:
    """A file that records are written to, one after another.

    The file is not written atomically: logs and event files are read while they grow.

    Args:
        path: overwritten if it exists.
        compression: None, `"GZIP"` or `"ZLIB"`.
        level: level of compression, 0 to 9, or -1 for zlib's default.

    Raises:
        NotFoundError: the folder does not exist.
        PermissionDeniedError: the file cannot be written.
    """

    def __init__(self, path: StrPath, compression: str | None = None, level: int = -1) -> None:
        self._path = os.fspath(path)
        window = _window(compression)
        self._deflate = None if window is None else zlib.compressobj(level, wbits=window)
        with explained("write", path):
            self._file: IO[bytes] | None = Path(path).open("wb", _CHUNK)  # noqa: SIM115 - close()

    def write(self, record: Content) -> None:
        """Append one record.

        Raises:
            FailedPreconditionError: the writer is closed.
            ResourceExhaustedError: the disk or a quota is full.
        """
        self._open()
        view = memoryview(record).cast("B")
        length = view.nbytes.to_bytes(8, "little")
        header = length + _FOOTER.pack(masked_crc32c(length))
        footer = _FOOTER.pack(masked_crc32c(record))
        if view.nbytes < _SMALL:
            self._put(b"".join((header, view, footer)))
        else:
            self._put(header)
            self._put(view)
            self._put(footer)

    def flush(self) -> None:
        """Flush the written data to the system, so that readers of the file see them."""
        file = self._open()
        if self._deflate is not None:
            self._put_raw(self._deflate.flush(zlib.Z_SYNC_FLUSH))
        try:
            file.flush()
        except OSError as error:
            raise explain(error, "write", self._path) from error

    def close(self) -> None:
        """Close the file; does nothing if it is closed."""
        if self._file is None:
            return
        file = self._file
        try:
            if self._deflate is not None:
                self._put_raw(self._deflate.flush())
        finally:
            self._file = None
            try:
                file.close()
            except OSError as error:
                raise explain(error, "write", self._path) from error

    def _open(self) -> IO[bytes]:
        if self._file is None:
            raise FailedPreconditionError(f"TFRecord: the writer of {self._path} is closed")
        return self._file

    def _put(self, data: Content) -> None:
        self._put_raw(data if self._deflate is None else self._deflate.compress(data))

    def _put_raw(self, data: Content) -> None:
        try:
            self._open().write(data)
        except OSError as error:
            if isinstance(error, OpError):
                raise
            raise explain(error, "write", self._path) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def framed(record: bytes) -> bytes:
    """A record with length and checksums, as in uncompressed files."""
    length = struct.pack("<Q", len(record))
    head = length + _FOOTER.pack(masked_crc32c(length))
    return b"".join((head, record, _FOOTER.pack(masked_crc32c(record))))


class _Source(Protocol):
    def read(self, count: int) -> bytes:
        """The next `count` bytes, or fewer at the end."""

    def may_hold(self, count: int) -> bool:
        """Whether this many bytes can still follow; checked before memory is reserved for them."""


class _Plain:
    """The bytes of a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.read = file.read

    def may_hold(self, count: int) -> bool:
        try:
            status = os.fstat(self._file.fileno())  # asked each time, since the file may be growing
        except OSError:  # not a local file but one in a store
            return True
        # A pipe has no size: it is read until it ends.
        return not stat.S_ISREG(status.st_mode) or count <= status.st_size - self._file.tell()


class _Inflated:
    """The decompressed bytes of a file, on demand."""

    def __init__(self, file: IO[bytes], window: int, name: str) -> None:
        self._file = file
        self._plain = _Plain(file)
        self._window = window
        self._name = name
        self._inflate = zlib.decompressobj(window)
        self._fed = False
        self._ready = b""
        self._at = 0

    def read(self, count: int) -> bytes:
        if len(self._ready) - self._at >= count:
            self._at += count
            return self._ready[self._at - count : self._at]
        parts = [self._ready[self._at :]]
        have = len(parts[0])
        self._ready, self._at = b"", 0
        while have < count:
            piece = self._more()
            if not piece:
                break
            parts.append(piece)
            have += len(piece)
        joined = b"".join(parts)
        if have > count:
            self._ready, self._at = joined, count
            return joined[:count]
        return joined

    def may_hold(self, count: int) -> bool:
        pending = len(self._inflate.unconsumed_tail)
        # A compressed byte expands to at most this many; zlib itself may buffer a window of 32 KiB.
        least = max(0, count - (len(self._ready) - self._at) - (1 << 16)) // _MOST_EXPANSION
        return self._plain.may_hold(max(0, least - pending))

    def _more(self) -> bytes:
        while True:
            compressed = self._inflate.unconsumed_tail
            if self._inflate.eof:
                # Files may be concatenated: another stream may follow.
                compressed = self._inflate.unused_data or self._file.read(_PIECE)
                if not compressed:
                    return b""
                self._inflate = zlib.decompressobj(self._window)
                self._fed = False
            elif not compressed:
                compressed = self._file.read(_PIECE)
            self._fed = self._fed or bool(compressed)
            try:
                piece = self._inflate.decompress(compressed, _CHUNK)
            except zlib.error as error:
                raise DataLossError(
                    f"TFRecord: {self._name} is not compressed as stated, or damaged: {error}"
                ) from error
            if piece:
                return piece
            if not compressed:
                # An empty file is an empty stream, without a header.
                if self._fed and not self._inflate.eof:
                    raise DataLossError(f"TFRecord: {self._name} ends inside a compressed stream")
                return b""


def read_records(path: StrPath, compression: str | None = None) -> Iterator[bytes]:
    """The records of a file, in order; every checksum is verified.

    Args:
        path: a TFRecord file.
        compression: None, `"GZIP"` or `"ZLIB"`.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: the file is damaged or ends inside a record; the offset, which counts
            uncompressed bytes, is where that record begins.
        InvalidArgumentError: `compression` is not one of the three.
    """
    window = _window(compression)
    return _records(path, window)


def _records(path: StrPath, window: int | None) -> Iterator[bytes]:
    name = os.fspath(path)
    with explained("read", path), Path(path).open("rb", _CHUNK) as file:
        source: _Source = _Plain(file) if window is None else _Inflated(file, window, name)
        yield from _parse(source, name)


def open_records(file: IO[bytes], name: str, compression: str | None = None) -> Iterator[bytes]:
    """The records of an open file from its current position, from which offsets count.

    Args:
        file: open for reading bytes; it stays open.
        name: name in messages.
        compression: None, `"GZIP"` or `"ZLIB"`.

    Raises:
        DataLossError: the file is damaged or ends inside a record.
        InvalidArgumentError: `compression` is not one of the three.
    """
    window = _window(compression)
    return _parse(_Plain(file) if window is None else _Inflated(file, window, name), name)


def _parse(source: _Source, name: str) -> Iterator[bytes]:
    offset = 0
    while header := source.read(12):
        if len(header) < 12:
            raise DataLossError(f"TFRecord: {name} ends inside the record at byte {offset}")
        length, length_crc = _HEADER.unpack(header)
        if masked_crc32c(header[:8]) != length_crc:
            raise DataLossError(
                f"TFRecord: the length of the record at byte {offset} of {name} does not match its "
                "checksum"
            )
        # Small records are harmless, and asking for the file's size takes a system call.
        if length > _CHUNK and not source.may_hold(length + 4):
            raise DataLossError(
                f"TFRecord: the record at byte {offset} of {name} claims {length} bytes, more than "
                "are left"
            )
        data = _read_in_pieces(source, length)
        footer = source.read(4)
        if len(data) < length or len(footer) < 4:
            raise DataLossError(f"TFRecord: {name} ends inside the record at byte {offset}")
        if masked_crc32c(data) != _FOOTER.unpack(footer)[0]:
            raise DataLossError(
                f"TFRecord: the record at byte {offset} of {name} does not match its checksum"
            )
        yield data
        offset += length + 16


def _read_in_pieces(source: _Source, length: int) -> bytes:
    if length <= 64 * _CHUNK:
        return source.read(length)
    parts = []
    while length:
        piece = source.read(min(length, 64 * _CHUNK))
        if not piece:
            break
        parts.append(piece)
        length -= len(piece)
    return b"".join(parts)
