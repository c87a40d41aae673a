"""Sorted tables: LevelDB's file format without filters, as in tensor bundles.

A table is a sequence of blocks, each followed by its compression type and a masked CRC-32C: data
blocks, an empty meta-index block, an index block that locates the data blocks; then a footer that
locates the last two. In a block, a key is stored as the length of the prefix shared with the
previous key, and the rest. The writer produces the same bytes as TensorFlow.
"""

from __future__ import annotations

import os
import struct
from typing import IO, TYPE_CHECKING

from pinnace.framework.errors import (
    DataLossError,
    InvalidArgumentError,
    ResourceExhaustedError,
    UnimplementedError,
)
from pinnace.storage.checksum import crc32c, mask
from pinnace.storage.regular_files import open_regular
from pinnace.storage.snappy import unpack
from pinnace.storage.system_errors import explained
from pinnace.storage.varints import read_varint, varint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.storage.atomic import StrPath

_FIXED32 = struct.Struct("<I")
_MAGIC = struct.pack("<Q", 0xDB4775248B80FB57)
_FOOTER_BYTES = 48
_TRAILER_BYTES = 5
_BLOCK_BYTES = 262144
_DATA_RESTART_INTERVAL = 16
_PLAIN, _SNAPPY = 0, 1
# Far above any checkpoint's index, since the file is read as a whole.
_MOST_BYTES = 1 << 30
# Keys share prefixes with the previous key, so that a file can expand to far more bytes; ten times
# is usual.
_MOST_EXPANSION = 100
_LEAST_ALLOWANCE = 1 << 20


class _Block:
    """A block's entries, encoded as they are added."""

    def __init__(self, restart_interval: int) -> None:
        self._interval = restart_interval
        self._bytes = bytearray()
        self._restarts = [0]
        self._since_restart = 0
        self._last = b""
        self.count = 0

    @property
    def size(self) -> int:
        return len(self._bytes) + 4 * len(self._restarts) + 4

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self._since_restart < self._interval:
            shared = _common(self._last, key)
        else:
            self._restarts.append(len(self._bytes))
            self._since_restart = 0
        self._bytes += varint(shared) + varint(len(key) - shared) + varint(len(value))
        self._bytes += key[shared:]
        self._bytes += value
        self._since_restart += 1
        self._last = key
        self.count += 1

    def finish(self) -> bytes:
        tail = struct.pack(f"<{len(self._restarts) + 1}I", *self._restarts, len(self._restarts))
        return bytes(self._bytes) + tail


class TableWriter:
    """Writes a sorted table to an open file.

    Args:
        file: written from its present position on, which must be its beginning.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._offset = 0
        self._data = _Block(_DATA_RESTART_INTERVAL)
        self._index = _Block(1)
        self._last: bytes | None = None
        # A closed block waits for the next key, which shortens the key that separates the two.
        self._waiting: tuple[bytes, bytes] | None = None

    def add(self, key: bytes, value: bytes) -> None:
        """Append an entry.

        Raises:
            InvalidArgumentError: `key` does not come after the key before, byte by byte.
        """
        if self._last is not None and key <= self._last:
            raise InvalidArgumentError(f"table: keys must ascend, got {key!r} after {self._last!r}")
        if self._waiting is not None:
            last, handle = self._waiting
            self._index.add(_separator(last, key), handle)
            self._waiting = None
        self._data.add(key, value)
        self._last = key
        if self._data.size >= _BLOCK_BYTES:
            self._close_block(key)

    def finish(self) -> None:
        """Write the last block, the index and the footer."""
        if self._data.count and self._last is not None:
            self._close_block(self._last)
        meta = self._put(_Block(1).finish())
        if self._waiting is not None:
            last, handle = self._waiting
            self._index.add(_successor(last), handle)
        footer = meta + self._put(self._index.finish())
        self._file.write(footer.ljust(_FOOTER_BYTES - len(_MAGIC), b"\0") + _MAGIC)

    def _close_block(self, last: bytes) -> None:
        self._waiting = last, self._put(self._data.finish())
        self._data = _Block(_DATA_RESTART_INTERVAL)

    def _put(self, block: bytes) -> bytes:
        """Write `block` with its trailer and return its handle."""
        handle = varint(self._offset) + varint(len(block))
        kind = bytes([_PLAIN])
        block += kind
        self._file.write(block + _FIXED32.pack(mask(crc32c(block))))
        self._offset += len(block) + 4
        return handle


def _common(a: bytes, b: bytes) -> int:
    """The length of the longest common prefix."""
    most = min(len(a), len(b))
    if a[:most] == b[:most]:
        return most
    low, high = 0, most  # a[:low] == b[:low], a[:high] != b[:high]
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _separator(last: bytes, following: bytes) -> bytes:
    """A short key k with last <= k < following, LevelDB's choice."""
    at = _common(last, following)
    if at < len(last) and at < len(following) and last[at] + 1 < following[at]:
        return last[:at] + bytes([last[at] + 1])
    return last


def _successor(last: bytes) -> bytes:
    """A short key that is at least `last`, LevelDB's choice."""
    for at, byte in enumerate(last):
        if byte != 0xFF:
            return last[:at] + bytes([byte + 1])
    return last


def read_table(path: StrPath) -> dict[bytes, bytes]:
    """All entries in the order of their keys, with checksums verified.

    Args:
        path: a sorted table, such as the `.index` file of a tensor bundle.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: the file is damaged, cut off, or not a sorted table.
        ResourceExhaustedError: the file, or what it stands for, is larger than any index.
        UnimplementedError: a block is compressed in an unknown way.
    """
    with explained("read", path), open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > _MOST_BYTES:
            raise ResourceExhaustedError(
                f"{path}: a table of {size} bytes; at most {_MOST_BYTES} are read"
            )
        data = file.read()
    return parse_table(data, os.fspath(path))


def parse_table(data: bytes, name: str) -> dict[bytes, bytes]:
    """All entries of the table with the bytes `data`; see `read_table`.

    Args:
        data: the whole file.
        name: name in error messages.
    """
    if len(data) < _FOOTER_BYTES or data[-8:] != _MAGIC:
        raise DataLossError(f"{name} is not a sorted table, or is cut off: its footer is missing")
    table = _Table(data, name)
    footer = data[-_FOOTER_BYTES:]
    _, _, at = table.handle(footer, 0)
    offset, size, _ = table.handle(footer, at)
    entries: dict[bytes, bytes] = {}
    last: bytes | None = None
    end = 0
    for _, handle in table.entries(offset, size):
        offset, size, _ = table.handle(handle, 0)
        # Blocks must ascend: a small file that names one block twice could expand without bound.
        if offset < end:
            raise DataLossError(f"{name}: data blocks overlap at byte {offset}")
        end = offset + size
        for key, value in table.entries(offset, size):
            if last is not None and key <= last:
                raise DataLossError(f"{name}: key {key[:200]!r} does not come after {last[:200]!r}")
            entries[key] = value
            last = key
    return entries


class _Table:
    """A table's bytes, and the remaining allowance for expansion."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._name = name
        self._allowance = _LEAST_ALLOWANCE + _MOST_EXPANSION * len(data)

    def handle(self, data: bytes, at: int) -> tuple[int, int, int]:
        """(offset, size) of the block whose handle is at `at`, and where the handle ends."""
        offset, at = read_varint(data, at, self._name)
        size, at = read_varint(data, at, self._name)
        if offset + size > len(self._data) - _FOOTER_BYTES - _TRAILER_BYTES:
            raise DataLossError(
                f"{self._name}: a block at byte {offset} of {size} bytes reaches past the end"
            )
        return offset, size, at

    def entries(self, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
        """The entries of one block."""
        block = self._block(offset, size)
        where = f"{self._name}: block at byte {offset}"
        if len(block) < 4:
            raise DataLossError(f"{where} is too short")
        restarts = _FIXED32.unpack_from(block, len(block) - 4)[0]
        end = len(block) - 4 - 4 * restarts
        if end < 0:
            raise DataLossError(f"{where} claims {restarts} restart points, more than fit")
        at = 0
        key = b""
        while at < end:
            shared, at = read_varint(block, at, where)
            rest, at = read_varint(block, at, where)
            length, at = read_varint(block, at, where)
            if shared > len(key) or rest + length > end - at:
                raise DataLossError(f"{where}: the entry after key {key[:200]!r} is damaged")
            self._spend(shared)
            key = key[:shared] + block[at : at + rest]
            at += rest
            value = block[at : at + length]
            at += length
            yield key, value

    def _block(self, offset: int, size: int) -> bytes:
        end = offset + size
        stored = _FIXED32.unpack_from(self._data, end + 1)[0]
        if mask(crc32c(memoryview(self._data)[offset : end + 1])) != stored:
            raise DataLossError(
                f"{self._name}: the block at byte {offset} does not match its checksum"
            )
        kind = self._data[end]
        block = self._data[offset:end]
        if kind == _PLAIN:
            return block
        if kind == _SNAPPY:
            unpacked = unpack(block, f"{self._name}: block at byte {offset}")
            self._spend(len(unpacked))
            return unpacked
        raise UnimplementedError(
            f"{self._name}: the block at byte {offset} has compression type {kind}; known are 0 "
            "(none) and 1 (snappy)"
        )

    def _spend(self, count: int) -> None:
        self._allowance -= count
        if self._allowance < 0:
            raise ResourceExhaustedError(
                f"{self._name}: unpacks to more than {_MOST_EXPANSION} times its "
                f"{len(self._data)} bytes"
            )
