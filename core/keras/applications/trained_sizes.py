"""The image sizes for which weights of MobileNets are published."""

from __future__ import annotations

import warnings
from typing import Any

USUAL = 224


def usual_size(shape: Any, sizes: tuple[int, ...]) -> int:
    """The size of square pictures if weights were trained on it, else 224.

    Args:
        shape: [height, width, ...]; None if nothing is known.
        sizes: the image sizes that weights were trained on.
    """
    height, width = (None, None) if shape is None else tuple(shape)[:2]
    return height if height == width and height in sizes else USUAL


def trained_size(who: str, shape: tuple[int | None, ...], sizes: tuple[int, ...]) -> int:
    """The size that the weights to load were trained on; 224, with a warning, if none fits.

    Args:
        who: name of the caller in the warning.
        shape: [height, width, ...] of the pictures.
        sizes: the image sizes that weights were trained on.
    """
    if shape[0] != shape[1] or shape[0] not in sizes:
        warnings.warn(
            f"{who}: there are weights for square pictures of {', '.join(map(str, sizes))}, got "
            f"{shape[0]} x {shape[1]}: those for {USUAL} x {USUAL} are loaded",
            stacklevel=3,
        )
    return usual_size(shape, sizes)


def check_one_of(who: str, name: str, given: Any, allowed: tuple[float, ...]) -> None:
    """Raise for an argument for which no weights are published.

    Raises:
        ValueError: the argument is not among the allowed values.
    """
    if given not in allowed:
        raise ValueError(
            f"{who}: {name} must be {' or '.join(map(str, allowed))} with weights='imagenet', "
            f"got {given}"
        )
