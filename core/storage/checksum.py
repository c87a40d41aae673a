"""CRC-32C (Castagnoli), and its masked form in files."""

from __future__ import annotations

import mmap
from typing import Any, TypeAlias

import google_crc32c
import numpy as np
import numpy.typing as npt

BytesLike: TypeAlias = bytes | bytearray | memoryview | mmap.mmap | npt.NDArray[Any]

_MASK_DELTA = 0xA282EAD8
_NATIVE = google_crc32c.implementation == "c"


def crc32c(data: BytesLike, start: int = 0) -> int:
    """The checksum of `data`, continuing after bytes whose checksum is `start`.

    Args:
        data: contiguous bytes; nothing is copied.
        start: 0 at the beginning.
    """
    if type(data) is not bytes:
        if not len(data):
            return start
        # The C function accepts no writable buffers except NumPy's.
        view = np.frombuffer(data, np.uint8)
        data = view if _NATIVE else view.tobytes()
    return int(google_crc32c.extend(start, data))


def mask(crc: int) -> int:
    """The stored form of `crc`: rotated and shifted, since checksums of checksums are weak."""
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def masked_crc32c(data: BytesLike) -> int:
    """The checksum of `data` as stored in files."""
    return mask(crc32c(data))
