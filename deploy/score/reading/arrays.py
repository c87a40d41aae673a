"""NumPy files: `.npy` holds the rows of one input, `.npz` columns by name."""

from __future__ import annotations

import zipfile
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.score.chunks import UNNAMED, Chunk
from pinnace.deploy.score.reading.reader import damaged, evenly
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.deploy.score.reading.reader import Opened, RowPosition
    from pinnace.framework.tensor import Array

_PIECE = 1 << 24
_ENDING = ".npy"


class _Stream:
    """The rows of a `.npy` file, read sequentially."""

    def __init__(self, file: IO[bytes], where: str) -> None:
        self._file = file
        self._where = where
        try:
            version = np.lib.format.read_magic(file)
            read: Any = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            self.shape, fortran, self.dtype = read(file)
        except (ValueError, EOFError, KeyError) as error:
            damaged(where, error)
        if self.dtype.hasobject:
            raise InvalidArgumentError(
                f"{where}: it holds pickled objects, which may run code and are refused\n"
                "  Try: save strings as np.array(texts, dtype='S') or 'U'"
            )
        if not self.shape:
            raise InvalidArgumentError(f"{where}: it is a scalar, must have an axis of rows")
        if fortran and len(self.shape) > 1:
            raise InvalidArgumentError(
                f"{where}: it is in Fortran order, so that it cannot be read by rows\n"
                "  Try: np.save(path, np.ascontiguousarray(array))"
            )
        self._row = int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize

    def skip(self, rows: int) -> None:
        left = rows * self._row
        if self._file.seekable() and not isinstance(self._file, zipfile.ZipExtFile):
            self._file.seek(left, 1)
            return
        while left:
            left -= len(self._read(min(left, _PIECE)))

    def take(self, rows: int) -> Array:
        data = self._read(rows * self._row)
        array = np.frombuffer(data, self.dtype) if self._row else np.zeros(0, self.dtype)
        return array.reshape((rows, *self.shape[1:]))

    def _read(self, count: int) -> bytes:
        try:
            data = self._file.read(count)
            while len(data) < count:
                more = self._file.read(count - len(data))
                if not more:
                    break
                data += more
        except (zipfile.BadZipFile, EOFError) as error:
            damaged(self._where, error)
        if len(data) < count:
            damaged(self._where, f"it ends before its {self.shape[0]} rows")
        return data


class ArrayReader:
    """An open `.npy` file."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._stream()

    def _stream(self) -> _Stream:
        self._opened.file.seek(0)
        return _Stream(self._opened.file, self._opened.where)

    def columns(self) -> None:
        """Return None: the rows have no names."""

    def places(self, rows: int) -> list[RowPosition]:
        """See `Reader.places`."""
        return evenly(self._stream().shape[0], rows)

    def chunks(
        self,
        begin: RowPosition,
        stop: int | None,
        wanted: Sequence[str],
        kept: Sequence[str],
        rows: int,
    ) -> Iterator[Chunk]:
        """See `Reader.chunks`."""
        del wanted, kept
        yield from _chunks({UNNAMED: self._stream()}, begin.row, stop, (UNNAMED,), (), rows)


class ArchiveReader:
    """An open `.npz` file, whose arrays must have the same number of rows.

    Raises:
        DataLossError: the file is not an `.npz` file.
    """

    def __init__(self, opened: Opened) -> None:
        self._where = opened.where
        try:
            self._archive = zipfile.ZipFile(opened.file)
        except (zipfile.BadZipFile, OSError) as error:
            damaged(opened.where, error)
        self._names = [
            name.removesuffix(_ENDING)
            for name in self._archive.namelist()
            if name.endswith(_ENDING)
        ]

    def columns(self) -> list[str]:
        """See `Reader.columns`."""
        return self._names

    def places(self, rows: int) -> list[RowPosition]:
        """See `Reader.places`."""
        return evenly(max((self._stream(n).shape[0] for n in self._names), default=0), rows)

    def chunks(
        self,
        begin: RowPosition,
        stop: int | None,
        wanted: Sequence[str],
        kept: Sequence[str],
        rows: int,
    ) -> Iterator[Chunk]:
        """See `Reader.chunks`."""
        streams = {name: self._stream(name) for name in dict.fromkeys([*wanted, *kept])}
        counts = {name: stream.shape[0] for name, stream in streams.items()}
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{name} has {count}" for name, count in counts.items())
            raise InvalidArgumentError(f"{self._where}: its arrays differ in rows: {listed}")
        yield from _chunks(streams, begin.row, stop, wanted, kept, rows)

    def _stream(self, name: str) -> _Stream:
        try:
            file = self._archive.open(f"{name}{_ENDING}")
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            damaged(self._where, error)
        return _Stream(file, f"{self._where}[{name}]")


def _chunks(
    streams: dict[str, _Stream],
    start: int,
    stop: int | None,
    wanted: Sequence[str],
    kept: Sequence[str],
    rows: int,
) -> Iterator[Chunk]:
    count = next(iter(streams.values())).shape[0]
    stop = count if stop is None else min(stop, count)
    for stream in streams.values():
        stream.skip(start)
    for first in range(start, stop, rows):
        some = min(rows, stop - first)
        found = {name: stream.take(some) for name, stream in streams.items()}
        values = {
            name: array.tolist() if array.dtype.kind in "SU" else array
            for name, array in found.items()
        }
        yield Chunk(
            first,
            some,
            {name: values[name] for name in wanted},
            {name: values[name] for name in kept},
        )
