"""Small photographs of ten classes: 60,000 images of 32x32 pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.keras.datasets.cifar import batch, unpacked

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

_SHA256 = "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"


def load_data() -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """((x_train, y_train), (x_test, y_test)).

    Returns:
        Images, uint8 [50000, 32, 32, 3] and [10000, 32, 32, 3]; classes, uint8 [50000, 1] and
        [10000, 1]: airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck.

    Raises:
        OSError: the archive is not there and cannot be fetched; the error says what to put where.
        ValueError: a file has other contents.
    """
    folder = unpacked("cifar10", 10, _SHA256)
    batches = [batch(folder / f"data_batch_{number}", "labels") for number in range(1, 6)]
    x_train = np.concatenate([images for images, _ in batches])
    y_train = np.concatenate([labels for _, labels in batches])
    x_test, y_test = batch(folder / "test_batch", "labels")
    return (x_train, y_train.astype(np.uint8)), (x_test, y_test.astype(np.uint8))
