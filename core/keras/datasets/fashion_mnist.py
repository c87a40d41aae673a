"""Clothes of ten kinds: 70,000 images of 28x28 pixels."""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np

from pinnace.keras.datasets.archives import MOST_BYTES
from pinnace.keras.datasets.files import DIGITS, HOST, fetched

if TYPE_CHECKING:
    from pathlib import Path

    from pinnace.framework.tensor import Array


def load_data() -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """((x_train, y_train), (x_test, y_test)).

    Returns:
        Images, uint8 [60000, 28, 28] and [10000, 28, 28]; kinds, uint8 [60000] and [10000]:
        T-shirt, trousers, pullover, dress, coat, sandal, shirt, sneaker, bag, boot.

    Raises:
        OSError: a file is not there and cannot be fetched; the error says what to put where.
        ValueError: a file has other contents.
    """
    y_train, x_train, y_test, x_test = (
        _indexed(_file(f"{part}-{what}-ubyte.gz"), axes)
        for part in ("train", "t10k")
        for what, axes in (("labels-idx1", 1), ("images-idx3", 3))
    )
    return (x_train, y_train), (x_test, y_test)


def _file(name: str) -> Path:
    folder = os.path.join("datasets", "fashion-mnist")  # noqa: PTH118 (get_file takes a text)
    # Keras has no digests of these.
    return fetched("fashion_mnist", name, HOST + name, None, folder=folder, instead=DIGITS)


def _indexed(path: Path, axes: int) -> Array:
    """An IDX file: its kind, the sizes of its axes, and then bytes.

    Source:
        THE IDX FILE FORMAT (the MNIST database): 0, 0, 8 for uint8, number of axes; sizes in
        32 bits, the first byte the highest.
    """
    try:
        with gzip.open(path) as file:
            return _read(file, axes)
    except (ValueError, EOFError, struct.error, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f"keras.datasets.fashion_mnist: {path} is not an IDX file of {axes} axes: {error}"
        ) from error


def _read(file: gzip.GzipFile, axes: int) -> Array:
    magic = file.read(4)
    if magic != bytes([0, 0, 8, axes]):
        raise ValueError(f"it begins with {magic.hex()}")
    sizes = struct.unpack(f">{axes}I", file.read(4 * axes))
    count = math.prod(sizes)
    if count > MOST_BYTES:
        raise ValueError(f"it announces the sizes {sizes}")
    content = file.read(count + 1)
    if len(content) != count:
        more = "more" if len(content) > count else str(len(content))
        raise ValueError(f"it announces the sizes {sizes} and has {more} bytes")
    return np.frombuffer(content, np.uint8).reshape(sizes).copy()
