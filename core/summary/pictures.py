"""Arrays in TensorBoard's forms: PNG images, histograms, WAV sound."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}


def encode_png(image: Array) -> bytes:
    """A PNG file.

    Args:
        image: [height, width, 1 to 4], uint8: grey, grey and alpha, RGB, RGBA.

    Source:
        PNG specification (RFC 2083): every line unfiltered, one IDAT chunk.
    """
    height, width, channels = image.shape
    if channels not in _COLOURS:
        raise InvalidArgumentError(f"an image must have 1 to 4 channels, got {channels}")
    lines = np.zeros((height, 1 + width * channels), np.uint8)
    lines[:, 1:] = image.reshape(height, width * channels)
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    body = zlib.compress(lines.tobytes(), 6)
    chunks = [(b"IHDR", head), (b"IDAT", body), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def histogram_rows(array: Array, buckets: int = 30) -> Array:
    """(left edge, right edge, count) of buckets of equal width.

    Args:
        array: numbers; what is not finite is left out.
        buckets: the number of buckets.

    Returns:
        [buckets, 3], float64. Of equal numbers all are in the last bucket, whose width is 0.

    Source:
        tensorboard `plugins/histogram/summary_v2.py`.
    """
    data = np.asarray(array, np.float64).ravel()
    data = data[np.isfinite(data)]
    if not data.size or not buckets:
        return np.zeros((buckets, 3))
    low, high = data.min(), data.max()
    rows = np.empty((buckets, 3))
    if low == high:
        rows[:, :2] = low
        rows[:, 2] = 0
        rows[-1, 2] = data.size
        return rows
    counts, edges = np.histogram(data, buckets, (low, high))
    rows[:, 0], rows[:, 1], rows[:, 2] = edges[:-1], edges[1:], counts
    return rows


def encode_wav(samples: Array, rate: int) -> bytes:
    """A WAV file of 16-bit samples.

    Args:
        samples: [frames, channels], floating point in [-1, 1].
        rate: frames a second.
    """
    frames = (np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes()
    channels = samples.shape[1]
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * 2, channels * 2, 16)
    body = (
        b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(frames))
    )
    return b"RIFF" + struct.pack("<I", len(body) + len(frames)) + body + frames
