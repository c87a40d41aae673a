"""Tensor bundles: named tensors in a `.index` file and one or more `.data-…-of-…` files.

The index is a sorted table from names to where a tensor's bytes are. The data files are the bytes.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError

from pinnace.framework.dtypes import DType, as_dtype, from_numpy, resource, string, variant
from pinnace.framework.errors import (
    AlreadyExistsError,
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    UnimplementedError,
)
from pinnace.proto.bundle_pb2 import BundleEntryProto, BundleHeaderProto
from pinnace.proto.tensor_pb2 import TensorShapeProto
from pinnace.proto.versions_pb2 import VersionDef
from pinnace.storage.atomic import create_sibling, sync_file, sync_folder
from pinnace.storage.checksum import crc32c, mask
from pinnace.storage.regular_files import open_regular
from pinnace.storage.slice_keys import WHOLE_AXIS, slice_key
from pinnace.storage.string_tensors import decode_strings, encode_strings
from pinnace.storage.system_errors import explain
from pinnace.storage.table import TableWriter, read_table

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from pinnace.storage.atomic import StrPath

Array: TypeAlias = npt.NDArray[Any]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Box: TypeAlias = tuple[tuple[int, int], ...]  # (start, length) by axis

_VERSION = 1
_ALIGNMENT = 64
_CHUNK = 1 << 22
_MOST_AXES = 64  # NumPy's limit
_MOST_BYTES = (1 << 63) - 1


def index_path(prefix: StrPath) -> str:
    """The index file of a bundle."""
    return f"{os.fspath(prefix)}.index"


def data_path(prefix: StrPath, shard: int, shards: int) -> str:
    """One data file of a bundle."""
    return f"{os.fspath(prefix)}.data-{shard:05d}-of-{shards:05d}"


class BundleWriter:
    """Writes tensors into the files of a bundle, as they are added.

    Nothing stands under the bundle's names before `finish`; as a context manager, it finishes when
    the block ends and leaves no trace if the block raises.

    Args:
        prefix: path of the bundle without the endings of its files; the folder is made if need be.
        max_shard_bytes: begin another data file before one would grow beyond this; a tensor is
            never cut, so one that is larger has a file to itself. None writes one file.

    Raises:
        InvalidArgumentError: `max_shard_bytes` is below 1.
        PermissionDeniedError: the folder is not writable.
    """

    def __init__(self, prefix: StrPath, *, max_shard_bytes: int | None = None) -> None:
        if max_shard_bytes is not None and max_shard_bytes < 1:
            raise InvalidArgumentError(
                f"BundleWriter: max_shard_bytes must be at least 1, got {max_shard_bytes}"
            )
        self._prefix = os.fspath(prefix)
        self._limit = max_shard_bytes
        self._entries: dict[bytes, BundleEntryProto] = {}
        self._paths: list[Path] = []  # hidden, until all is written
        self._file: IO[bytes] | None = None
        self._offset = 0
        self._done = False
        try:
            Path(self._prefix).parent.mkdir(parents=True, exist_ok=True)
            self._open_shard()
        except OSError as error:
            raise explain(error, "write bundle", self._prefix) from error

    def add(self, name: str, value: npt.ArrayLike, dtype: DType | None = None) -> None:
        """Append a tensor.

        Args:
            name: a new one, not empty.
            value: numbers of any kind, or bytes in an object array.
            dtype: if it is not the one that the array says, as for quantised integers.

        Raises:
            AlreadyExistsError: there is a tensor of that name.
            InvalidArgumentError: `name` is empty or begins with a zero; an element of a string
                tensor is not bytes.
            FailedPreconditionError: the bundle is finished.
            ResourceExhaustedError: the disk or a quota is full; nothing is left of the bundle.
        """
        if self._done:
            raise FailedPreconditionError(f"bundle {self._prefix} is finished")
        key = _key(name)
        if not key or key[0] == 0:
            raise InvalidArgumentError(
                f"bundle {self._prefix}: a tensor's name must not be empty or begin with a zero "
                f"character, got {name!r}"
            )
        if key in self._entries:
            raise AlreadyExistsError(f"bundle {self._prefix} has a tensor {name!r} already")
        array = np.asarray(value)
        kind = from_numpy(array.dtype) if dtype is None else dtype
        if kind is resource or kind is variant:
            raise UnimplementedError(
                f"bundle {self._prefix}: tensor {name!r} is a {kind.name}, which is not stored"
            )
        try:
            if kind is string:
                pieces, size, crc = encode_strings(self._strings(name, array))
                shard, offset = self._begin(size, 1)
                for piece in pieces:
                    self._put(piece)
            else:
                stored = _little_endian_bytes(array, kind, name)
                size = stored.size
                shard, offset = self._begin(size, _ALIGNMENT)
                crc = 0
                for start in range(0, size, _CHUNK):
                    chunk = stored[start : start + _CHUNK]
                    crc = crc32c(chunk, crc)
                    self._put(chunk.data)
                crc = mask(crc)
        except OSError as error:
            self.abort()
            if isinstance(error, OpError):
                raise
            raise explain(error, "write bundle", self._prefix) from error
        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in array.shape])
        self._entries[key] = BundleEntryProto(
            dtype=kind.enum,  # type: ignore[arg-type]  # the stubs want the enum's own int
            shape=shape,
            shard_id=shard,
            offset=offset,
            size=size,
            crc32c=crc,
        )

    def finish(self) -> None:
        """Put all files in their places, the index last.

        Raises:
            FailedPreconditionError: the bundle is finished.
            ResourceExhaustedError: the disk or a quota is full.
        """
        if self._done:
            raise FailedPreconditionError(f"bundle {self._prefix} is finished")
        try:
            self._close_shard()
            if len(self._paths) == _shards_in_place(self._prefix):
                # Data files are named by how many there are. Under the names of the older bundle
                # they would take its place before the index does: one more, empty, has names anew.
                self._open_shard()
                self._close_shard()
            count = len(self._paths)
            places = [Path(data_path(self._prefix, n, count)) for n in range(count)]
            places.append(Path(index_path(self._prefix)))
            # All is on disk before the first name changes: a full disk harms no older bundle.
            self._write_index()
            for path, place in zip(self._paths, places, strict=True):
                if place.suffix == ".index":
                    sync_folder(place.parent)
                path.replace(place)
            sync_folder(places[0].parent)
        except OSError as error:
            self.abort()
            if isinstance(error, OpError):
                raise
            raise explain(error, "write bundle", self._prefix) from error
        except BaseException:
            self.abort()
            raise
        self._done = True
        # Files of an older bundle under this name, which had another number of them.
        names = {place.name for place in places}
        pattern = re.compile(re.escape(Path(self._prefix).name) + r"\.data-\d{5,}-of-\d{5,}\Z")
        for path in places[0].parent.iterdir():
            if pattern.match(path.name) and path.name not in names:
                with contextlib.suppress(OSError):
                    path.unlink()

    def abort(self) -> None:
        """Remove what was written; nothing after `finish`."""
        if self._done:
            return
        self._done = True
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
        for path in self._paths:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.abort()
        elif not self._done:
            self.finish()

    def _strings(self, name: str, array: Array) -> list[bytes]:
        if array.dtype.kind == "U":
            array = np.char.encode(array, "utf-8")
        elements: list[bytes] = array.ravel().tolist()
        for index, element in enumerate(elements):
            if type(element) is not bytes:
                if not isinstance(element, bytes):
                    raise InvalidArgumentError(
                        f"bundle {self._prefix}: element {index} of string tensor {name!r} must be "
                        f"bytes, got {type(element).__name__}"
                    )
                elements[index] = bytes(element)
        return elements

    def _open_shard(self) -> None:
        path, self._file = create_sibling(Path(self._prefix))
        self._paths.append(path)
        self._offset = 0

    def _close_shard(self) -> None:
        if self._file is not None:
            sync_file(self._file)
            self._file.close()
            self._file = None

    def _begin(self, size: int, alignment: int) -> tuple[int, int]:
        """(shard, offset) for the next `size` bytes."""
        gap = -self._offset % alignment if size else 0
        if self._limit is not None and self._offset and self._offset + gap + size > self._limit:
            self._close_shard()
            self._open_shard()
            gap = 0
        self._put(bytes(gap))
        return len(self._paths) - 1, self._offset

    def _put(self, data: bytes | memoryview) -> None:
        if self._file is None:
            raise FailedPreconditionError(f"bundle {self._prefix} is finished")
        self._file.write(data)
        self._offset += len(data)

    def _write_index(self) -> None:
        header = BundleHeaderProto(
            num_shards=len(self._paths), version=VersionDef(producer=_VERSION)
        )
        path, file = create_sibling(Path(self._prefix))
        self._paths.append(path)
        with file:
            table = TableWriter(file)
            table.add(b"", header.SerializeToString())
            for key in sorted(self._entries):
                table.add(key, self._entries[key].SerializeToString())
            table.finish()
            sync_file(file)


def _shards_in_place(prefix: str) -> int:
    """How many data files the bundle has that stands under this name; 0 if none does."""
    try:
        return BundleReader(prefix)._shards
    except OpError:
        return 0


def _key(name: str) -> bytes:
    """The bytes of a name; text that has none in UTF-8 becomes a key that no table has."""
    return name.encode(errors="replace")


def _little_endian_bytes(array: Array, kind: DType, name: str) -> Bytes:
    """The bytes of `array` in a row; a view where they are so already."""
    if array.dtype.newbyteorder("=") != kind.numpy:
        raise InvalidArgumentError(
            f"bundle: tensor {name!r} is to be {kind.name}, got an array of {array.dtype}"
        )
    if array.dtype.str[0] == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


@dataclass(frozen=True, slots=True)
class BundleEntry:
    """What the index says of a tensor.

    Attributes:
        dtype: of its elements.
        shape: its sizes.
        shard: number of the data file.
        offset: of its first byte there.
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
    """The tensors of a bundle, read when they are asked for.

    Numbers are not copied: an array shows the file's bytes, mapped copy-on-write, so writing to it
    changes this process's view (also of arrays read later) and never the file.
    A thread may use a reader while others do.

    Args:
        prefix: path of the bundle without the endings of its files.

    Raises:
        NotFoundError: there is no such bundle.
        DataLossError: its index is damaged.
        UnimplementedError: it was written for later readers.
    """

    def __init__(self, prefix: StrPath) -> None:
        self._prefix = os.fspath(prefix)
        self._index = index_path(prefix)
        self._raw = read_table(self._index)
        header = self._header()
        self._shards = header.num_shards
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
        if header.version.min_consumer > _VERSION:
            raise UnimplementedError(
                f"{self._index} is for readers of version {header.version.min_consumer} or later; "
                f"this one is of version {_VERSION}"
            )
        if header.num_shards < 0 or header.endianness not in (0, 1):
            raise DataLossError(
                f"{self._index}: the header claims {header.num_shards} data files and byte order "
                f"{header.endianness}"
            )
        return header

    def _tensor_names(self) -> list[str]:
        try:
            # A zero begins the key of a part of a tensor.
            return [key.decode() for key in self._raw if key[0] != 0]
        except UnicodeDecodeError as error:
            raise DataLossError(
                f"{self._index}: the name {error.object[:200]!r} is not UTF-8"
            ) from error

    @property
    def prefix(self) -> str:
        """The bundle's path without the endings of its files."""
        return self._prefix

    def keys(self) -> list[str]:
        """All names, in the order of their bytes."""
        return list(self._names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name[:1] not in ("", "\0") and _key(name) in self._raw

    def __len__(self) -> int:
        return len(self._names)

    def entry(self, name: str) -> BundleEntry:
        """What the index says of a tensor.

        Raises:
            NotFoundError: the bundle has no tensor of that name.
            DataLossError: the entry is damaged.
            UnimplementedError: the dtype is unknown.
        """
        if name not in self:
            raise NotFoundError(
                f"{self._index} has no tensor {name!r}; it has {len(self._names)} others"
            )
        return self._entry(_key(name), name)

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
        return self._read(_key(name), name, entry, verify=verify)

    def check_present(self, name: str) -> None:
        """Nothing, if the bytes of a tensor are there; they are not read.

        Raises:
            NotFoundError: the bundle has no tensor of that name, or a data file is missing.
            DataLossError: the file ends before the tensor does.
        """
        entry = self.entry(name)
        if not entry.slices:
            self._stored(name, entry)

    def verify_all(self) -> None:
        """Compare every tensor with its checksum.

        Raises:
            DataLossError: one does not match; the first is named.
            NotFoundError: a data file is missing.
        """
        # Parts come last: those of a whole are verified by then, and are named by it.
        for key in sorted(self._raw, key=lambda key: key[0] == 0):
            name = key.decode(errors="backslashreplace")
            entry = self._entry(key, name)
            if entry.slices:
                self._assemble(name, entry, verify=True)
            elif key not in self._verified:
                self._read(key, name, entry, verify=True)

    def close(self) -> None:
        """Let go of the data files; arrays that were read stay as they are."""
        with self._lock:
            self._maps.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
            if not 0 <= message.shard_id < self._shards:
                raise DataLossError(
                    f"{where}: is in data file {message.shard_id} of {self._shards}"
                )
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
        path = data_path(self._prefix, entry.shard, self._shards)
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
                        if size:
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
        """A partitioned tensor from its parts."""
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
        # Parts may not lie over one another, so a small file cannot stand for a large tensor.
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
    """(start, length) by axis of one part; DataLossError if it is not inside `shape`."""
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
    """The elements of which `stored` are the bytes; a view of them where that is possible."""
    if dtype.numpy.kind == "b":
        # Other bytes than 0 and 1 are no booleans to NumPy.
        return stored.view(np.bool_) if not stored.size or stored.max() <= 1 else stored != 0
    part = dtype.numpy.itemsize // (2 if dtype.numpy.kind == "c" else 1)
    if part > 1 and order == ">":
        stored = stored.view(f">u{part}").astype(f"<u{part}").view(np.uint8)
    values: Array = stored.view(dtype.numpy)
    # Other writers put tensors next to one another; arithmetic wants them on their boundaries.
    return values if values.flags.aligned else values.copy()
