"""Small photographs of a hundred classes: 60,000 images of 32x32 pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.keras.datasets.cifar import batch, unpacked

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

_SHA256 = "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"


def load_data(
    label_mode: str = "fine",
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """((x_train, y_train), (x_test, y_test)).

    Args:
        label_mode: `fine` for 100 classes, `coarse` for the 20 that they belong to.

    Returns:
        Images, uint8 [50000, 32, 32, 3] and [10000, 32, 32, 3]; classes, int64 [50000, 1] and
        [10000, 1].

    Raises:
        OSError: the archive is not there and cannot be fetched; the error says what to put where.
        ValueError: unknown `label_mode`, or a file in the archive has other contents.
    """
    if label_mode not in {"fine", "coarse"}:
        raise ValueError(
            f"keras.datasets.cifar100: label_mode must be fine or coarse, got {label_mode!r}"
        )
    folder = unpacked("cifar100", 100, _SHA256)
    return batch(folder / "train", f"{label_mode}_labels"), batch(
        folder / "test", f"{label_mode}_labels"
    )
