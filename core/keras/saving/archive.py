"""The zip archive of a .keras file: few members, read within limits, written at once."""

from __future__ import annotations

import datetime as dt
import io
import json
import os
import struct
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, Any, Self

from pinnace.framework.errors import DataLossError, NotFoundError, ResourceExhaustedError
from pinnace.storage.atomic import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CONFIG = "config.json"
METADATA = "metadata.json"
WEIGHTS = "model.weights.h5"
# Keras stores members uncompressed. A recompressed file may expand this much.
_TIMES = 20
_FREE = 4 << 20
_MEMBERS = 10_000
_CHUNK = 1 << 20
_LOCAL_HEADER = struct.Struct("<4s22xHH")


class Archive:
    """An open .keras file.

    Args:
        path: path of the file.
        who: the reader's name, for messages.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: the file is no zip archive, or a damaged one.
    """

    def __init__(self, path: str, who: str = "load_model") -> None:
        self.path = path
        self._who = who
        if not os.path.isfile(path):  # noqa: PTH113 (a text)
            raise NotFoundError(f"{who}: there is no file {path!r}")
        self.size = os.path.getsize(path)  # noqa: PTH202 (a text)
        try:
            self._zip = zipfile.ZipFile(path)
        except (
            zipfile.BadZipFile,
            NotImplementedError,
            ValueError,
            OSError,
            struct.error,
        ) as error:
            raise DataLossError(f"{who}: {path!r} is no .keras file: {error}") from None
        try:
            self._members = self._checked()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._zip.close()

    def _checked(self) -> dict[str, zipfile.ZipInfo]:
        found = self._zip.infolist()
        if len(found) > _MEMBERS:
            raise self._wrong(f"it has {len(found)} members")
        members: dict[str, zipfile.ZipInfo] = {}
        for info in found:
            # Some programs on Windows write backslashes, folder entries, and a leading `.`.
            there = info.filename.replace("\\", "/")
            name = "/".join(part for part in there.split("/") if part not in {"", "."})
            if there.startswith("/") or ".." in name.split("/") or ":" in name or "\0" in name:
                raise self._wrong(f"member {info.filename!r} has no name inside of an archive")
            if there.endswith("/"):
                continue
            if name in members:
                raise self._wrong(f"it has two members {name!r}")
            if info.flag_bits & 1:
                raise self._wrong(f"member {name!r} is encrypted")
            members[name] = info
        return members

    def _wrong(self, what: str) -> DataLossError:
        return DataLossError(
            f"{self._who}: {self.path!r} is no .keras file that can be read: {what}"
        )

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def inside(self, folder: str) -> list[str]:
        """The names of the members in a folder."""
        return [name for name in self._members if name.startswith(f"{folder}/")]

    def read(self, name: str) -> bytes:
        """The bytes of a member, checked against its sum.

        Raises:
            DataLossError: the member is missing, or damaged.
            ResourceExhaustedError: the member expands to too many bytes.
        """
        info = self._members.get(name)
        if info is None:
            raise self._wrong(f"it has no member {name!r}")
        self._check_growth(info)
        try:
            with self._zip.open(info) as member:
                data = member.read(info.file_size + 1)
        except (zipfile.BadZipFile, NotImplementedError, zlib.error, EOFError, OSError) as error:
            raise self._wrong(f"member {name!r}: {error}") from None
        except (ValueError, struct.error, RuntimeError) as error:
            raise self._wrong(f"member {name!r}: {error}") from None
        if len(data) != info.file_size:
            raise self._wrong(f"member {name!r} has another size than stated")
        return data

    def json(self, name: str) -> Any:
        """A member as JSON."""
        try:
            return json_of(self.read(name))
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"member {name!r} is no JSON: {error}") from None

    def open(self, name: str) -> IO[bytes]:
        """A member for reading and seeking, its checksum verified; stored ones are not copied."""
        info = self._members.get(name)
        if info is None:
            raise self._wrong(f"it has no member {name!r}")
        if info.compress_type != zipfile.ZIP_STORED:
            return io.BytesIO(self.read(name))
        if info.file_size != info.compress_size:
            raise self._wrong(f"member {name!r} has two sizes")
        return io.BufferedReader(self._window(info), _CHUNK)

    def _window(self, info: zipfile.ZipInfo) -> _Window:
        file = open(self.path, "rb")  # noqa: PTH123, SIM115 (a text; the window closes it)
        try:
            file.seek(info.header_offset)
            head = file.read(_LOCAL_HEADER.size)
            if len(head) < _LOCAL_HEADER.size or head[:4] != b"PK\x03\x04":
                raise self._wrong(  # noqa: TRY301 (the file is closed below)
                    f"member {info.filename!r} does not begin where it should"
                )
            _, name, extra = _LOCAL_HEADER.unpack(head)
            begin = info.header_offset + _LOCAL_HEADER.size + name + extra
            if begin + info.file_size > self.size:
                raise self._wrong(  # noqa: TRY301 (as above)
                    f"member {info.filename!r} extends beyond the end of the file"
                )
            self._check_sum(file, begin, info)
        except BaseException:
            file.close()
            raise
        return _Window(file, begin, info.file_size)

    def _check_sum(self, file: IO[bytes], begin: int, info: zipfile.ZipInfo) -> None:
        file.seek(begin)
        left, found = info.file_size, 0
        while left:
            chunk = file.read(min(left, _CHUNK))
            if not chunk:
                break
            found = zlib.crc32(chunk, found)
            left -= len(chunk)
        if left or found != info.CRC:
            raise self._wrong(f"member {info.filename!r} was damaged: its checksum is wrong")

    def _check_growth(self, info: zipfile.ZipInfo) -> None:
        if info.file_size > max(_FREE, min(info.compress_size, self.size) * _TIMES):
            raise ResourceExhaustedError(
                f"{self._who}: {self.path!r}: member {info.filename!r} would grow from "
                f"{info.compress_size} bytes to {info.file_size}"
            )


class _Window(io.RawIOBase):
    """A part of a file, as a file."""

    def __init__(self, file: IO[bytes], begin: int, size: int) -> None:
        super().__init__()
        self._file = file
        self._begin = begin
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(start + offset, 0)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        count = min(len(buffer), max(self._size - self._at, 0))
        self._file.seek(self._begin + self._at)
        data = self._file.read(count)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def about(version: str, config: Any) -> dict[str, bytes]:
    """The members with the configuration and the metadata.

    Args:
        version: version of Keras, whose format it is.
        config: a JSON value.
    """
    now = dt.datetime.now(tz=dt.UTC)
    told = {"keras_version": version, "date_saved": now.strftime("%Y-%m-%d@%H:%M:%S")}
    return {METADATA: json.dumps(told).encode(), CONFIG: json.dumps(config).encode()}


def json_of(data: bytes) -> Any:
    """A member as JSON.

    Raises:
        ValueError: the member is not JSON.
    """
    return json.loads(data)


def write_archive(
    path: str, version: str, config: Any, members: Mapping[str, Callable[[IO[bytes]], None]]
) -> None:
    """Write a .keras file atomically.

    Args:
        path: path of the file.
        version: version of Keras, whose format it is.
        config: a JSON value.
        members: name -> what writes it to a file.
    """

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, data in about(version, config).items():
                archive.writestr(name, data)
            for name, fill in members.items():
                with archive.open(name, "w", force_zip64=True) as member:
                    fill(member)

    write_file(path, write)
