"""Handwritten digits: 70,000 images of 28x28 pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.keras.datasets.archives import arrays
from pinnace.keras.datasets.files import DIGITS, HOST, fetched

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

_SHA256 = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"


def load_data(path: str = "mnist.npz") -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """((x_train, y_train), (x_test, y_test)).

    Args:
        path: name of the file in `~/.keras/datasets`.

    Returns:
        Images, uint8 [60000, 28, 28] and [10000, 28, 28], white on black; digits, uint8 [60000]
        and [10000].

    Raises:
        OSError: the file is not there and cannot be fetched; the error says what to put where.
        ValueError: the file has other contents.
    """
    file = fetched("mnist", path, f"{HOST}mnist.npz", _SHA256, instead=DIGITS)
    x_train, y_train, x_test, y_test = arrays(file, "x_train", "y_train", "x_test", "y_test")
    return (x_train, y_train), (x_test, y_test)
