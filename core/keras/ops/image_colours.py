"""Colour conversion: grey scale, and hue, saturation and value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.ops.formats import images_last, images_restored
from pinnace.keras.ops.operation import operation
from pinnace.keras.result_types import result_type
from pinnace.ops.array import casting, constants
from pinnace.ops.image import colour
from pinnace.ops.math import reduction

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor

# Weights of red, green and blue in the luma (ITU-R BT.601).
_SHARES = (0.2989, 0.5870, 0.1140)


@operation("image", "RGBToGrayscale", "data_format")
def rgb_to_grayscale(images: Any, data_format: str | None = None) -> Tensor:
    """Images in grey scale.

    Args:
        images: [batch, height, width, 3] or one image without `batch`, any real dtype; what has one
            channel is returned as it is.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        The shape with one channel, dtype of `images`; integers are cut off, not rounded.

    Raises:
        ValueError: wrong number of axes or channels.
    """
    x, first, single = images_last("rgb_to_grayscale", images, data_format)
    channels = x.shape[-1]
    if channels not in {1, 3}:
        raise ValueError(
            "keras.ops.image.rgb_to_grayscale: Invalid channel size: expected 3 (RGB) or 1 "
            f"(Grayscale), got images of shape {x.shape.text}"
        )
    if channels == 3:
        floats = casting.cast(x, result_type(x.dtype, float))
        weighted = floats * constants.constant(_SHARES, floats.dtype)
        x = casting.cast(reduction.reduce_sum(weighted, -1, keepdims=True), x.dtype)
    return images_restored(x, first, single)


@operation("image", "RGBToHSV", "data_format")
def rgb_to_hsv(images: Any, data_format: str | None = None) -> Tensor:
    """Hue, saturation and value of each pixel.

    Args:
        images: red, green and blue from 0 to 1, [batch, height, width, 3] or one image without
            `batch`, a float dtype.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        Shape and dtype of `images`, from 0 to 1.

    Raises:
        ValueError: unsupported dtype, number of axes or of channels.
    """
    return _exchanged("rgb_to_hsv", images, data_format, colour.rgb_to_hsv)


@operation("image", "HSVToRGB", "data_format")
def hsv_to_rgb(images: Any, data_format: str | None = None) -> Tensor:
    """Red, green and blue of each pixel.

    Args:
        images: hue, saturation and value from 0 to 1, [batch, height, width, 3] or one image
            without `batch`, a float dtype.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        Shape and dtype of `images`, from 0 to 1.

    Raises:
        ValueError: unsupported dtype, number of axes or of channels.
    """
    return _exchanged("hsv_to_rgb", images, data_format, colour.hsv_to_rgb)


def _exchanged(
    name: str, images: Any, data_format: str | None, function: Callable[[Tensor], Tensor]
) -> Tensor:
    x, first, single = images_last(name, images, data_format)
    if not x.dtype.is_floating:
        raise ValueError(
            f"keras.ops.image.{name}: Invalid images dtype: expected float dtype, got "
            f"{x.dtype.name}"
        )
    if x.shape[-1] not in {None, 3}:
        raise ValueError(
            f"keras.ops.image.{name}: Input images must have 3 channels, but received images with "
            f"{x.shape[-1]} channels."
        )
    return images_restored(function(x), first, single)
