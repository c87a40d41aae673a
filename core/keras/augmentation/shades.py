"""Changes of brightness and of channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.keras import pictures
from pinnace.keras.augmentation import global_random

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array


def apply_channel_shift(x: Array, intensity: float, channel_axis: int = 0) -> Array:
    """A picture plus a number, clipped to the picture's least and largest value.

    Args:
        x: any number of axes.
        intensity: the number.
        channel_axis: accepted for Keras' sake; all channels get the same number.
    """
    del channel_axis
    return np.clip(x + intensity, np.min(x), np.max(x))


def random_channel_shift(x: Array, intensity_range: float, channel_axis: int = 0) -> Array:
    """`apply_channel_shift` by a random number in ±intensity_range.

    Args:
        x: any number of axes.
        intensity_range: the largest number.
        channel_axis: see there.
    """
    return apply_channel_shift(
        x, global_random.uniform(-intensity_range, intensity_range), channel_axis
    )


def apply_brightness_shift(x: Array, brightness: float, scale: bool = True) -> Array:
    """A picture made lighter or darker as by Pillow, in 256 steps.

    Args:
        x: [height, width, 1, 3 or 4].
        brightness: factor; 1 changes nothing, 0 is black.
        scale: whether its least number becomes 0 and its largest 255 before; what has others than
            0 to 255 is scaled in any case, and without `scale` back again.

    Returns:
        float32 [height, width, channels].

    Raises:
        ImportError: Pillow is missing.
    """
    low, high = np.min(x), np.max(x)
    beyond = bool(low < 0 or high > 255)
    picture = pictures.array_to_img(x, scale=beyond or scale)
    from PIL import ImageEnhance

    found = pictures.img_to_array(ImageEnhance.Brightness(picture).enhance(brightness))
    if beyond and not scale:
        found = found / 255 * (high - low) + low
    return found


def random_brightness(x: Array, brightness_range: Sequence[float], scale: bool = True) -> Array:
    """`apply_brightness_shift` by a random factor from a range.

    Args:
        x: [height, width, 1, 3 or 4].
        brightness_range: the least and the largest factor.
        scale: see there.

    Raises:
        ValueError: `brightness_range` is no pair.
        ImportError: Pillow is missing.
    """
    if len(brightness_range) != 2:
        raise ValueError(
            f"random_brightness: brightness_range must be a pair of factors, got "
            f"{brightness_range!r}"
        )
    low, high = brightness_range
    return apply_brightness_shift(x, global_random.uniform(low, high), scale)
