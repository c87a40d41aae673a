"""Tables of numbers, shuffled by a seed and split into training and test data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array


def check_split(who: str, test_split: float) -> None:
    """Raise for a share that leaves no training data."""
    if not 0 <= test_split < 1:
        raise ValueError(
            f"keras.datasets.{who}: test_split must be at least 0 and less than 1, got {test_split}"
        )


def split(
    x: Array, y: Array, test_split: float, seed: int | None
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """((x_train, y_train), (x_test, y_test)), shuffled as in Keras.

    Args:
        x: [n, ...].
        y: [n].
        test_split: the share of the second part.
        seed: seed of the order.
    """
    order = np.arange(len(x))
    # The same old generator as Keras: a newer one would give another order.
    np.random.RandomState(seed).shuffle(order)
    cut = int(len(x) * (1 - test_split))
    train, test = order[:cut], order[cut:]
    return (x[train], y[train]), (x[test], y[test])
