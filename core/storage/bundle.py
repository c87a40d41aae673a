"""Tensor bundles: named tensors in a `.index` file and one or more `.data-…-of-…` files.

The index is a sorted table from names to where a tensor's bytes are. The data files are the bytes.
"""

from __future__ import annotations

import math
import mmap
import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError

from pinnace.framework.dtypes import DType, as_dtype, resource, string, variant
from pinnace.framework.errors import DataLossError, NotFoundError, OpError, UnimplementedError
from pinnace.proto.bundle_pb2 import BundleEntryProto, BundleHeaderProto
from pinnace.storage.checksum import crc32c, mask
from pinnace.storage.regular_files import open_regular
from pinnace.storage.slice_keys import WHOLE_AXIS, slice_key
from pinnace.storage.string_tensors import decode_strings
from pinnace.storage.system_errors import explain
from pinnace.storage.table import read_table

if TYPE_CHECKING:
    from typing import Self

    from pinnace.storage.atomic import StrPath

Array: TypeAlias = npt.NDArray[Any]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Box: TypeAlias = tuple[tuple[int, int], ...]  # (start, length) by axis

VERSION = 1  # of the format
_MOST_AXES = 64  # NumPy's limit
_MOST_BYTES = (1 << 63) - 1
_MAPPED_STAYS = os.name == "nt"  # a mapped file cannot be replaced there


def index_path(prefix: StrPath) -> str:
    """The index file of a bundle."""
    return f"{os.fspath(prefix)}.index"


def data_path(prefix: StrPath, shard: int, shards: int) -> str:
    """The path of a data file of a bundle."""
    return f"{os.fspath(prefix)}.data-{shard:05d}-of-{shards:05d}"


def key_of(name: str) -> bytes:
    """The bytes of a name; a name that UTF-8 cannot encode becomes a key that no table has."""
    return name.encode(errors="replace")


@dataclass(frozen=True, slots=True)
class BundleEntry:
    """The index entry of a tensor.

    Attributes:
        dtype: dtype of its elements.
        shape: its sizes.
        shard: number of the data file.
        offset: offset of its first byte there.
        size: how many bytes it takes there.
        crc32c: their masked checksum.
        slices: the parts that it is made of, in which case it has no bytes of its own.
    """

    dtype: DType
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    crc32c: int
    slices: tuple[Box, ...] = ()


class BundleReader:
    """The tensors of a bundle, read on demand.

    Numbers are not copied: an array is a view of the file's bytes, mapped copy-on-write, so writing
    to it changes this process's view (also of arrays read later) and never the file. A thread may
    use a reader while others do.

    Args:
        prefix: path of the bundle without the endings of its files.
        largest_read: data files of at most so many bytes are read whole instead. What is mapped
            changes with its file when that is overwritten in place, and where that is cut short
            the system ends the process.

    Raises:
        NotFoundError: there is no such bundle.
        DataLossError: its index is damaged.
        UnimplementedError: the bundle requires a later reader.
    """

    def __init__(self, prefix: StrPath, *, largest_read: int = 0) -> None:
        self._largest_read = largest_read
        self._prefix = os.fspath(prefix)
        self._index = index_path(prefix)
        self._raw = read_table(self._index)
        header = self._header()
        self.shards = header.num_shards
        self._order = ">" if header.endianness == BundleHeaderProto.BIG else "<"
        self._names = self._tensor_names()
        self._entries: dict[bytes, BundleEntry] = {}
        self._maps: dict[int, Bytes] = {}
        self._verified: set[bytes] = set()
        self._lock = threading.Lock()

    def _header(self) -> BundleHeaderProto:
        raw = self._raw.pop(b"", None)
        if raw is None:
            raise DataLossError(f"{self._index} is a sorted table, but has no bundle's header")
        try:
            header = BundleHeaderProto.FromString(raw)
        except DecodeError as error:
            raise DataLossError(f"{self._index}: the bundle's header is damaged") from error
        if header.version.min_consumer > VERSION:
            raise UnimplementedError(
                f"{self._index} is for readers of version {header.version.min_consumer} or later; "
                f"this one is of version {VERSION}"
            )
        if header.num_shards < 0 or header.endianness not in (0, 1):
            raise DataLossError(
                f"{self._index}: the header claims {header.num_shards} data files and byte order "
                f"{header.endianness}"
            )
        return header

    def _tensor_names(self) -> list[str]:
        try:
            # Keys of tensor slices begin with a zero byte.
            return [key.decode() for key in self._raw if key[0] != 0]
        except UnicodeDecodeError as error:
            raise DataLossError(
                f"{self._index}: the name {error.object[:200]!r} is not UTF-8"
            ) from error

    @property
    def prefix(self) -> str:
        """The bundle's path without file endings."""
        return self._prefix

    def keys(self) -> list[str]:
        """All names in byte order."""
        return list(self._names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name[:1] not in ("", "\0") and key_of(name) in self._raw

    def __len__(self) -> int:
        return len(self._names)

    def entry(self, name: str) -> BundleEntry:
        """The index entry of a tensor.

        Raises:
            NotFoundError: the bundle has no tensor of that name.
            DataLossError: the entry is damaged.
            UnimplementedError: the dtype is unknown.
        """
        if name not in self:
            raise NotFoundError(
                f"{self._index} has no tensor {name!r}; it has {len(self._names)} others"
            )
        return self._entry(key_of(name), name)

    def read(self, name: str, *, verify: bool = True) -> Array:
        """The values of a tensor: an object array of bytes for strings.

        Args:
            name: one of `keys()`.
            verify: compare the bytes with their checksum, when they are read for the first time.

        Raises:
            NotFoundError: the bundle has no tensor of that name, or a data file is missing.
            DataLossError: the bytes are damaged or cut off.
            UnimplementedError: the dtype is unknown, or a resource or variant.
        """
        entry = self.entry(name)
        if entry.slices:
            return self._assemble(name, entry, verify=verify)
        return self._read(key_of(name), name, entry, verify=verify)

    def check_present(self, name: str) -> None:
        """Check that the bytes of a tensor are present, without reading them.

        Raises:
            NotFoundError: the bundle has no tensor of that name, or a data file is missing.
            DataLossError: the file ends before the tensor does.
        """
        entry = self.entry(name)
        if not entry.slices:
            self._stored(name, entry)

    def verify_all(self) -> None:
        """Verify the checksum of every tensor.

        Raises:
            DataLossError: one does not match; the first is named.
            NotFoundError: a data file is missing.
        """
        # Slices last: the whole tensors name and verify their own.
        for key in sorted(self._raw, key=lambda key: key[0] == 0):
            name = key.decode(errors="backslashreplace")
            entry = self._entry(key, name)
            if entry.slices:
                self._assemble(name, entry, verify=True)
            elif key not in self._verified:
                self._read(key, name, entry, verify=True)

    def close(self) -> None:
        """Release the data files; arrays that were read remain valid."""
        with self._lock:
            self._maps.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _entry(self, key: bytes, name: str) -> BundleEntry:
        found = self._entries.get(key)
        if found is None:
            found = self._entries[key] = self._decode_entry(self._raw[key], name)
        return found

    def _decode_entry(self, raw: bytes, name: str) -> BundleEntry:
        where = f"{self._index}: tensor {name!r}"
        try:
            message = BundleEntryProto.FromString(raw)
        except DecodeError as error:
            raise DataLossError(f"{where}: the entry is damaged") from error
        try:
            dtype = as_dtype(int(message.dtype))
        except TypeError:
            raise UnimplementedError(f"{where}: dtype number {message.dtype} is unknown") from None
        shape = tuple(dim.size for dim in message.shape.dim)
        if message.shape.unknown_rank or any(size < 0 for size in shape):
            raise DataLossError(f"{where}: the shape {shape} is not that of a stored tensor")
        # NumPy multiplies the sizes that are not zero, also of an array without elements.
        most = math.prod(size for size in shape if size) * dtype.size
        if len(shape) > _MOST_AXES or most > _MOST_BYTES:
            raise DataLossError(f"{where}: no array has the shape {shape}")
        slices = tuple(_box(part, shape, where) for part in message.slices)
        if not slices:
            if not 0 <= message.shard_id < self.shards:
                raise DataLossError(f"{where}: is in data file {message.shard_id} of {self.shards}")
            if message.offset < 0 or message.size < 0:
                raise DataLossError(f"{where}: has {message.size} bytes at byte {message.offset}")
            bytes_needed = math.prod(shape) * dtype.size
            if dtype.numpy.kind != "O" and bytes_needed != message.size:
                raise DataLossError(
                    f"{where}: {dtype.name}{list(shape)} needs {bytes_needed} bytes, "
                    f"{message.size} are stored"
                )
        return BundleEntry(
            dtype, shape, message.shard_id, message.offset, message.size, message.crc32c, slices
        )

    def _read(self, key: bytes, name: str, entry: BundleEntry, *, verify: bool) -> Array:
        if entry.dtype is resource or entry.dtype is variant:
            raise UnimplementedError(
                f"{self._index}: tensor {name!r} is a {entry.dtype.name}, which is not read"
            )
        path, stored = self._stored(name, entry)
        where = f"{path}: tensor {name!r}"
        check = verify and key not in self._verified
        if entry.dtype is string:
            count = math.prod(entry.shape)
            values = decode_strings(
                stored, count, entry.crc32c if check else None, self._order, where
            )
        else:
            if check and mask(crc32c(stored)) != entry.crc32c:
                raise DataLossError(f"{where}: the bytes do not match their checksum")
            values = _numbers(stored, entry.dtype, self._order)
        if check:
            self._verified.add(key)
        return values.reshape(entry.shape)

    def _stored(self, name: str, entry: BundleEntry) -> tuple[str, Bytes]:
        """(data file, bytes of the tensor)."""
        path = data_path(self._prefix, entry.shard, self.shards)
        data = self._map(entry.shard, path, name)
        end = entry.offset + entry.size
        if end > data.size:
            raise DataLossError(
                f"{path}: tensor {name!r} ends at byte {end}, the file at byte {data.size}; it is "
                "cut off"
            )
        return path, data[entry.offset : end]

    def _map(self, shard: int, path: str, name: str) -> Bytes:
        with self._lock:
            found = self._maps.get(shard)
            if found is None:
                try:
                    with open_regular(path) as file:
                        size = os.fstat(file.fileno()).st_size
                        found = np.empty(0, np.uint8)  # an empty file cannot be mapped
                        if size and (_MAPPED_STAYS or size <= self._largest_read):
                            found = np.fromfile(file, np.uint8)
                        elif size:
                            mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)
                            found = np.frombuffer(mapped, np.uint8)
                except OSError as error:
                    if isinstance(error, OpError):
                        raise
                    raise explain(error, "read", path, f"it should hold tensor {name!r}") from error
                except ValueError as error:  # the file shrank between two calls
                    raise DataLossError(f"{path}: tensor {name!r}: {error}") from error
                self._maps[shard] = found
            return found

    def _assemble(self, name: str, entry: BundleEntry, *, verify: bool) -> Array:
        """A partitioned tensor, assembled from its slices."""
        where = f"{self._index}: tensor {name!r}"
        covered = sum(math.prod(length for _, length in box) for box in entry.slices)
        if covered != math.prod(entry.shape):
            raise DataLossError(
                f"{where}: its parts have {covered} elements, its shape {list(entry.shape)} has "
                f"{math.prod(entry.shape)}"
            )
        parts: list[tuple[Box, bytes, str, BundleEntry]] = []
        files: dict[int, int] = {}
        for box in entry.slices:
            key = self._part_key(name, box, entry.shape, where)
            label = f"{name} {list(box)}"
            part = self._entry(key, label)
            if part.slices or part.dtype is not entry.dtype:
                raise DataLossError(f"{where}: the part {list(box)} is not of {entry.dtype.name}")
            if part.shape != tuple(length for _, length in box):
                raise DataLossError(f"{where}: the part {list(box)} has shape {list(part.shape)}")
            self._stored(label, part)
            files[part.shard] = len(self._map(part.shard, "", label))
            parts.append((box, key, label, part))
        # Slices must not overlap, so a small file cannot claim a large tensor.
        if sum(part.size for _, _, _, part in parts) > sum(files.values()):
            raise DataLossError(f"{where}: its parts are larger than the files that hold them")
        values = np.zeros(entry.shape, entry.dtype.numpy)
        filled = np.zeros(entry.shape, np.bool_)
        for box, key, label, part in parts:
            at = tuple(slice(start, start + length) for start, length in box)
            values[at] = self._read(key, label, part, verify=verify)
            filled[at] = True
        if not filled.all():
            raise DataLossError(f"{where}: its parts overlap")
        return values

    def _part_key(self, name: str, box: Box, shape: tuple[int, ...], where: str) -> bytes:
        # A whole axis is written as such, or with its length.
        marked = (
            (0, WHOLE_AXIS) if (start, length) == (0, size) else (start, length)
            for (start, length), size in zip(box, shape, strict=True)
        )
        for extents in (box, tuple(marked)):
            key = slice_key(name, extents)
            if key in self._raw:
                return key
        raise DataLossError(f"{where}: its part {list(box)} is missing")


def _box(part: Any, shape: tuple[int, ...], where: str) -> Box:
    """(start, length) per axis of a slice; DataLossError if it is not inside `shape`."""
    if len(part.extent) != len(shape):
        raise DataLossError(f"{where}: a part has {len(part.extent)} axes, not {len(shape)}")
    box = []
    for extent, size in zip(part.extent, shape, strict=True):
        length = extent.length if extent.HasField("length") else size - extent.start
        if extent.start < 0 or length < 0 or extent.start + length > size:
            raise DataLossError(
                f"{where}: a part reaches from {extent.start} to {extent.start + length} of an "
                f"axis of {size}"
            )
        box.append((extent.start, length))
    return tuple(box)


def _numbers(stored: Bytes, dtype: DType, order: str) -> Array:
    """The elements encoded by `stored`, as a view if possible."""
    if dtype.numpy.kind == "b":
        # NumPy requires booleans to be the bytes 0 and 1.
        return stored.view(np.bool_) if not stored.size or stored.max() <= 1 else stored != 0
    part = dtype.numpy.itemsize // (2 if dtype.numpy.kind == "c" else 1)
    if part > 1 and order == ">":
        stored = stored.view(f">u{part}").astype(f"<u{part}").view(np.uint8)
    values: Array = stored.view(dtype.numpy)
    # Other writers do not align tensors; copy for arithmetic.
    return values if values.flags.aligned else values.copy()
