"""`.npz` files, read without executing anything and with sizes checked in advance."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from pinnace.keras.datasets import pickled

if TYPE_CHECKING:
    from pathlib import Path

    from pinnace.framework.tensor import Array

# The largest member of Keras's files has 150 MB; what unpacks to more is something else.
MOST_BYTES = 1 << 28


def arrays(path: Path, *names: str) -> list[Array]:
    """The arrays of these names.

    Args:
        path: an `.npz` file. Arrays of objects hold lists, numbers and arrays.
        *names: the names given to `numpy.savez`.

    Raises:
        ValueError: the file is no such archive, lacks a name, is too large, or holds
            objects other than lists, numbers and arrays.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return [_array(_member(archive, f"{name}.npy")) for name in names]
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"keras.datasets: {path} cannot be read: {error}") from error


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as member:
        found = member.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise ValueError(f"{name} has more than {MOST_BYTES} bytes")
    return found


def _array(data: bytes) -> Array:
    file = io.BytesIO(data)
    version = npy.read_magic(file)
    if version not in {(1, 0), (2, 0)}:
        raise ValueError(f"version {version} of the npy format is not one of (1, 0), (2, 0)")
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, by_columns, dtype = header(file)
    content = data[file.tell() :]
    if dtype == np.dtype(object):
        return _objects(pickled.read(content), shape)
    if dtype.hasobject or len(content) != math.prod(shape) * dtype.itemsize:
        raise ValueError(
            f"{len(content)} bytes do not match an array of shape {shape} and dtype {dtype}"
        )
    flat = np.frombuffer(content, dtype) if content else np.empty(0, dtype)
    found: Array = flat.reshape(shape, order="F" if by_columns else "C").copy("K")
    return found


def _objects(found: Any, shape: tuple[int, ...]) -> Array:
    if not isinstance(found, np.ndarray) or found.shape != shape:
        raise ValueError(f"an array of shape {shape} was announced, and something else follows")
    return found
