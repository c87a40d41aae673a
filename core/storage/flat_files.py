"""Files without a record format: lines, fixed-length records, compressed content."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

from pinnace.framework.errors import DataLossError, InvalidArgumentError
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

COMPRESSIONS = ("", "GZIP", "ZLIB")
CHUNK = 1 << 20
_LINES = 256


def compression_of(who: str, kind: Any) -> str:
    """The name of a compression.

    Raises:
        InvalidArgumentError: the compression is unknown.
    """
    found = kind.decode() if isinstance(kind, bytes) else kind or ""
    if found not in COMPRESSIONS:
        raise InvalidArgumentError(
            f"{who}: compression_type must be one of '', 'GZIP', 'ZLIB', got {kind!r}"
        )
    return str(found)


def _unpacked(file: IO[bytes], compression: str) -> IO[bytes]:
    """A file's content, decompressed while reading."""
    if compression == "GZIP":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    if compression == "ZLIB":
        return cast("IO[bytes]", io.BufferedReader(_Inflating(file), CHUNK))
    return file


class _Inflating(io.RawIOBase):
    """The decompressed bytes of a zlib stream."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._inflate = zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        while not self._inflate.eof:
            packed = self._inflate.unconsumed_tail or self._file.read(1 << 14)
            piece = self._inflate.decompress(packed, len(view))
            if piece:
                view[: len(piece)] = piece
                return len(piece)
            if not packed:
                raise EOFError("the compressed stream ends too early")
        return 0


def decoded(
    name: str, compression: str, who: str, read: Callable[[IO[bytes]], Iterator[T]]
) -> Iterator[T]:
    """`read` of the decompressed bytes; DataLossError if they are corrupt."""
    with explained("read", name), Path(name).open("rb", CHUNK) as packed:
        try:
            with _unpacked(packed, compression) as file:
                yield from read(file)
        except (zlib.error, gzip.BadGzipFile, EOFError) as error:
            raise DataLossError(
                f"{who}: {name} is not {compression} as stated, or damaged: {error}"
            ) from error


def lines(file: IO[bytes]) -> Iterator[list[bytes]]:
    r"""The lines of a file in lists, without their ends, which are "\n" or "\r\n"."""
    while found := file.readlines(_LINES * 64):
        yield [
            line[:-2] if line.endswith(b"\r\n") else line[:-1] if line.endswith(b"\n") else line
            for line in found
        ]


def parts(
    file: IO[bytes], who: str, name: str, length: int, header: int = 0, footer: int = 0
) -> Iterator[list[bytes]]:
    """Fixed-length records of a file, in lists, without header and footer.

    Args:
        file: read from its beginning to its end.
        who: name of the caller in messages.
        name: name of the file, for messages.
        length: length of a part, in bytes.
        header: how many bytes to leave out at the beginning.
        footer: how many to leave out at the end.

    Raises:
        InvalidArgumentError: the bytes between them are not a whole number of records; before the
            first record unless the file is compressed, as in TensorFlow.
    """
    if isinstance(file, io.BufferedReader) and file.seekable():  # so it is not compressed
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        _check_rest(who, name, length, size - header - footer)
    if len(file.read(header)) < header:
        raise InvalidArgumentError(f"{who}: {name} is shorter than its header")
    step = max(1, CHUNK // length) * length
    held = b""
    while True:
        piece = file.read(step)
        held += piece
        # The last bytes may be the footer: hold them back until the end of the file.
        whole = max(0, len(held) - footer) // length * length
        if whole:
            yield [held[i : i + length] for i in range(0, whole, length)]
            held = held[whole:]
        if not piece:
            break
    _check_rest(who, name, length, len(held) - footer)


def _check_rest(who: str, name: str, length: int, rest: int) -> None:
    if rest < 0 or rest % length:
        raise InvalidArgumentError(
            f"{who}: {name} must hold whole records of {length} bytes between header and "
            f"footer, {rest if rest < 0 else rest % length} bytes are left over"
        )
