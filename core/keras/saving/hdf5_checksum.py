"""A checksum of a whole HDF5 file, kept in it as an attribute that Keras passes over.

The value names its own place: `pinnace-crc32c:PLACE:CRC`, in hexadecimal digits. CRC is the CRC-32C
of all bytes of the file, with those eight digits as zeros.
"""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np

from pinnace.framework.errors import DataLossError
from pinnace.storage.checksum import crc32c

ATTRIBUTE = "pinnace_checksum"
_FORM = re.compile(rb"pinnace-crc32c:([0-9a-f]{16}):([0-9a-f]{8})")
_UNKNOWN = b"pinnace-crc32c:" + b"0" * 16 + b":" + b"0" * 8
_DIGITS = b"0" * 8
_CHUNK = 1 << 24


def sealed(memory: io.BytesIO) -> memoryview:
    """The bytes of an HDF5 file that is closed, with its checksum in it.

    Args:
        memory: the file; it is changed.
    """
    import h5py  # it is there, or nothing would have been written

    with h5py.File(memory, "r+") as opened:
        opened.attrs[ATTRIBUTE] = np.bytes_(_UNKNOWN)
    view = memory.getbuffer()
    found = re.search(re.escape(_UNKNOWN), view)
    if found is None:
        raise RuntimeError("HDF5 did not keep an attribute as it was given")
    place = found.end() - len(_DIGITS)
    view[found.start() : found.end()] = b"pinnace-crc32c:%016x:%s" % (place, _DIGITS)
    view[place : found.end()] = b"%08x" % crc32c(view)
    return view


def check(path: str, opened: Any, who: str) -> None:
    """Compare a file with its checksum; nothing if it has none.

    Args:
        path: of the file.
        opened: it, open to be read.
        who: for messages.

    Raises:
        DataLossError: the file is not what was written.
    """
    if ATTRIBUTE not in opened.attrs:
        return
    found = _FORM.fullmatch(bytes(opened.attrs[ATTRIBUTE]))
    if found is None or int(found[2], 16) != _checksum(path, int(found[1], 16)):
        raise DataLossError(
            f"{who}: the file is damaged, or was changed after it was saved: its checksum is not "
            "that of its bytes\n"
            "  Try: copy it again from where it came; or, if it was changed on purpose, "
            f"`with h5py.File(path, 'r+') as file: del file.attrs[{ATTRIBUTE!r}]`"
        )


def _checksum(path: str, place: int) -> int:
    """The CRC-32C of a file whose eight bytes at a place count as zeros in digits."""
    total, at = 0, 0
    with open(path, "rb") as file:  # noqa: PTH123 (a text)
        while at < place and (data := file.read(min(_CHUNK, place - at))):
            total = crc32c(data, total)
            at += len(data)
        file.seek(len(_DIGITS), io.SEEK_CUR)
        total = crc32c(_DIGITS, total)
        while data := file.read(_CHUNK):
            total = crc32c(data, total)
    return total
