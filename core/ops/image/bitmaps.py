"""Uncompressed BMP files as TensorFlow reads them: palettes are ignored."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

# Offsets of the fields in the header: start of the pixels; width and height; bits per pixel.
_PLACES, _SIZES, _BITS = 10, 18, 28
_HEAD_BYTES = 32


def read(op: str, data: bytes, channels: int, most: int) -> Array:
    """The pixels of a BMP file: uint8 [height, width, channels].

    Args:
        op: who asks, for errors.
        data: the file.
        channels: 0 as in the file, 3 RGB, 4 RGB and alpha.
        most: how many values are too many.

    Raises:
        InvalidArgumentError: the file is cut off or too long, has another depth than 8, 24 or 32
            bits, or is too large.
    """
    if len(data) < _HEAD_BYTES:
        raise _broken(op, f"its head needs {_HEAD_BYTES} bytes, and there are {len(data)}")
    (start,) = struct.unpack_from("<i", data, _PLACES)
    width, height = struct.unpack_from("<ii", data, _SIZES)
    (bits,) = struct.unpack_from("<h", data, _BITS)
    own = bits // 8
    if bits not in (8, 24, 32):
        raise _broken(op, f"a pixel must have 8, 24 or 32 bits, not {bits}")
    rows, upwards = abs(height), height > 0
    if width < 1 or not rows or width * rows * max(own, channels) >= most:
        raise _broken(op, f"a picture of {width} by {rows} is empty or too large")
    stride = -(-width * own // 4) * 4
    if start < 0 or len(data) != start + stride * rows:
        raise _broken(
            op, f"{rows} rows of {stride} bytes from byte {start} on are no file of {len(data)}"
        )
    lines = np.frombuffer(data, np.uint8, stride * rows, start).reshape(rows, stride)
    pixels = lines[:: -1 if upwards else 1, : width * own].reshape(rows, width, own)
    if own == 1:
        colours, alpha = pixels, None
    else:  # stored as blue, green, red
        colours, alpha = pixels[..., 2::-1], pixels[..., 3:] if own == 4 else None
    wanted = channels or own
    if wanted == 1:
        return pixels.copy()
    out = np.full((rows, width, wanted), 255, np.uint8)
    out[..., :3] = colours
    if wanted == 4 and alpha is not None:
        out[..., 3:] = alpha
    return out


def _broken(op: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{op}: contents are no BMP file that can be read: {why}")
