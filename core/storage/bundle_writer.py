"""Writing tensor bundles: see `bundle`."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pinnace.framework.dtypes import DType, from_numpy, resource, string, variant
from pinnace.framework.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    UnimplementedError,
)
from pinnace.proto.bundle_pb2 import BundleEntryProto, BundleHeaderProto, TensorSliceProto
from pinnace.proto.tensor_pb2 import TensorShapeProto
from pinnace.proto.versions_pb2 import VersionDef
from pinnace.storage.atomic import create_sibling, sync_file, sync_folder
from pinnace.storage.bundle import (
    VERSION,
    Array,
    Box,
    BundleReader,
    Bytes,
    data_path,
    index_path,
    key_of,
)
from pinnace.storage.checksum import crc32c, mask
from pinnace.storage.slice_keys import WHOLE_AXIS, slice_key
from pinnace.storage.string_tensors import encode_strings
from pinnace.storage.system_errors import explain
from pinnace.storage.table import TableWriter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from pinnace.storage.atomic import StrPath

_ALIGNMENT = 64
_CHUNK = 1 << 22


class BundleWriter:
    """Writes tensors to the files of a bundle as they are added.

    No file has its final name before `finish`; as a context manager, it finishes when the block
    ends and removes everything if the block raises.

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
        self._paths: list[Path] = []  # hidden until all are written
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
            AlreadyExistsError: a tensor of that name has been added.
            InvalidArgumentError: `name` is empty or begins with a zero; an element of a string
                tensor is not bytes.
            FailedPreconditionError: the bundle is finished.
            ResourceExhaustedError: the disk or a quota is full; nothing is left of the bundle.
        """
        if self._done:
            raise FailedPreconditionError(f"bundle {self._prefix} is finished")
        key = key_of(name)
        if not key or key[0] == 0:
            raise InvalidArgumentError(
                f"bundle {self._prefix}: a tensor's name must not be empty or begin with a zero "
                f"character, got {name!r}"
            )
        if key in self._entries:
            raise AlreadyExistsError(f"bundle {self._prefix} has a tensor {name!r} already")
        self._entries[key] = self._written(name, np.asarray(value), dtype)

    def add_part(
        self,
        name: str,
        shape: Sequence[int],
        box: Box,
        value: npt.ArrayLike,
        dtype: DType | None = None,
    ) -> None:
        """Append a slice of a tensor, whose slices may be in several files.

        Args:
            name: name of the whole tensor.
            shape: shape of the whole tensor.
            box: (start, length) of the part on each axis.
            value: the part.
            dtype: see `add`.

        Raises:
            AlreadyExistsError: this slice, or the whole tensor, has been added.
            InvalidArgumentError: the part is not one of such a tensor.
        """
        array, sizes, key = np.asarray(value), tuple(shape), key_of(name)
        fits = len(box) == len(sizes) and array.shape == tuple(length for _, length in box)
        if not fits or any(a < 0 or a + n > size for (a, n), size in zip(box, sizes, strict=True)):
            raise InvalidArgumentError(
                f"bundle {self._prefix}: {list(box)} of shape {list(array.shape)} is no part of "
                f"tensor {name!r} of shape {list(sizes)}"
            )
        axes = [
            (0, WHOLE_AXIS) if (0, size) == one else one
            for one, size in zip(box, sizes, strict=True)
        ]
        place = slice_key(name, axes)
        whole = self._entries.get(key)
        if place in self._entries or (whole is not None and not whole.slices):
            raise AlreadyExistsError(
                f"bundle {self._prefix} has tensor {name!r}, or its part {list(box)}, already"
            )
        part = self._written(name, array, dtype)
        self._entries[place] = part
        if whole is None:
            dims = [TensorShapeProto.Dim(size=n) for n in sizes]
            whole = BundleEntryProto(dtype=part.dtype, shape=TensorShapeProto(dim=dims))
            self._entries[key] = whole
        extent = TensorSliceProto.Extent
        whole.slices.append(
            TensorSliceProto(
                extent=[
                    extent() if length == WHOLE_AXIS else extent(start=start, length=length)
                    for start, length in axes
                ]
            )
        )

    def begin_shard(self) -> None:
        """Start another data file for following values, unless the current one is empty."""
        if self._done:
            raise FailedPreconditionError(f"bundle {self._prefix} is finished")
        if self._offset:
            self._close_shard()
            self._open_shard()

    def _written(self, name: str, array: Array, dtype: DType | None) -> BundleEntryProto:
        """The entry of an array whose bytes were written to a data file."""
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
        return BundleEntryProto(
            dtype=kind.enum,  # type: ignore[arg-type]  # the stubs want the enum's own int
            shape=shape,
            shard_id=shard,
            offset=offset,
            size=size,
            crc32c=crc,
        )

    def finish(self) -> None:
        """Move all files to their places, the index last.

        Raises:
            FailedPreconditionError: the bundle is finished.
            ResourceExhaustedError: the disk or a quota is full.
        """
        if self._done:
            raise FailedPreconditionError(f"bundle {self._prefix} is finished")
        try:
            self._close_shard()
            if len(self._paths) == _shards_in_place(self._prefix):
                # The number of data files is part of their names. With as many files as the older
                # bundle has, the new ones would replace those before the index: one more, empty,
                # makes the names new.
                self._open_shard()
                self._close_shard()
            count = len(self._paths)
            places = [Path(data_path(self._prefix, n, count)) for n in range(count)]
            places.append(Path(index_path(self._prefix)))
            # All data is on disk before the first rename: a full disk leaves the older bundle
            # intact.
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
        # Remove data files of an older bundle of this name, which had another number of them.
        names = {place.name for place in places}
        pattern = re.compile(re.escape(Path(self._prefix).name) + r"\.data-\d{5,}-of-\d{5,}\Z")
        for path in places[0].parent.iterdir():
            if pattern.match(path.name) and path.name not in names:
                with contextlib.suppress(OSError):
                    path.unlink()

    def abort(self) -> None:
        """Remove the written files; does nothing after `finish`."""
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
            num_shards=len(self._paths), version=VersionDef(producer=VERSION)
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
    """The number of data files of the existing bundle of this name; 0 if there is none."""
    try:
        return BundleReader(prefix).shards
    except OpError:
        return 0


def _little_endian_bytes(array: Array, kind: DType, name: str) -> Bytes:
    """The bytes of `array` in little-endian order; a view if they already are."""
    if array.dtype.newbyteorder("=") != kind.numpy:
        raise InvalidArgumentError(
            f"bundle: tensor {name!r} is to be {kind.name}, got an array of {array.dtype}"
        )
    if array.dtype.str[0] == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
