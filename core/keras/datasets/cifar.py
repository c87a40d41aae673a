"""The files of CIFAR-10 and CIFAR-100: pickled dicts of images and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.keras.datasets import pickled
from pinnace.keras.datasets.archives import MOST_BYTES
from pinnace.keras.datasets.files import fetched

if TYPE_CHECKING:
    from pathlib import Path

    from pinnace.framework.tensor import Array

_HOST = "https://www.cs.toronto.edu/~kriz/"
_CHANNELS, _SIDE = 3, 32
_MOST_CLASSES = 100


def unpacked(who: str, classes: int, digest: str) -> Path:
    """The folder of the batches."""
    inner = "cifar-10-batches-py" if classes == 10 else "cifar-100-python"
    origin = f"{_HOST}cifar-{classes}-python.tar.gz"
    return fetched(who, f"{inner}-target", origin, digest, extract=True) / inner


def batch(path: Path, labels: str) -> tuple[Array, Array]:
    """Images of a file, uint8 [n, 32, 32, 3], and their labels, int64 [n, 1].

    Args:
        path: path of the file.
        labels: the key of the labels in the file's dict.

    Raises:
        ValueError: the file has other contents.
    """
    try:
        images, numbers = _contents(path, labels)
    except ValueError as error:
        raise ValueError(f"keras.datasets: {path} is not a CIFAR file: {error}") from error
    return images, np.reshape(np.array(numbers, np.int64), (len(numbers), 1))


def _contents(path: Path, labels: str) -> tuple[Array, list[int]]:
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise ValueError(f"it has {size} bytes")
    found = pickled.read(path.read_bytes())
    data, numbers = (_entry(found, key) for key in ("data", labels))
    count = len(numbers)
    shape = (count, _CHANNELS * _SIDE * _SIDE)
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.shape != shape:
        raise ValueError(f"it holds no images for its {count} labels")
    if not all(type(number) is int and 0 <= number < _MOST_CLASSES for number in numbers):
        raise ValueError("its labels are not class indices")
    return data.reshape(count, _CHANNELS, _SIDE, _SIDE).transpose(0, 2, 3, 1), numbers


def _entry(found: Any, key: str) -> Any:
    # The files are Python 2's, whose texts are bytes.
    if not isinstance(found, dict) or key.encode() not in found:
        raise ValueError(f"it has no {key}")
    value = found[key.encode()]
    if key != "data" and not isinstance(value, list):
        raise ValueError(f"its {key} are no list")
    return value
