"""Segmentation masks drawn over images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.keras.visualization.image_batches import image_batch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.tensor import Array

# Multiples of these are colours that are far apart, as Keras has them.
_PALETTE = np.array([2**25 - 1, 2**15 - 1, 2**21 - 1])


def draw_segmentation_masks(
    images: Any,
    segmentation_masks: Any,
    num_classes: int | None = None,
    color_mapping: Mapping[int, Sequence[int]] | None = None,
    alpha: float = 0.8,
    blend: bool = True,
    ignore_index: int = -1,
    data_format: str | None = None,
) -> Array:
    """Images with a colour for each class.

    Args:
        images: [batch, height, width, 3], from 0 to 255.
        segmentation_masks: [batch, height, width, 1], integers: the class of each pixel.
        num_classes: classes from this number on have no colour; the largest one there is if None.
        color_mapping: colours by class, from 0 to 255.
        alpha: the share of the colour.
        blend: whether the image shines through; else colours alone, float32.
        ignore_index: the class whose pixels stay as they are.
        data_format: "channels_last" or "channels_first"; as the configuration says if None.

    Returns:
        [batch, height, width, 3], uint8, or float32 if not blended.

    Raises:
        TypeError: masks are no integers.
        ValueError: there is no batch, or a class has no colour.
    """
    who = "draw_segmentation_masks"
    plain = image_batch(who, images, data_format).astype(np.float32)
    classes = image_batch(who, segmentation_masks, data_format)
    if classes.dtype.kind not in "iu":
        raise TypeError(
            f"{who}: `segmentation_masks` must be in integer dtype, got {classes.dtype.name}"
        )
    kinds = classes[..., 0]
    count = int(kinds.max()) if num_classes is None else num_classes
    if color_mapping is None:
        colours = [number * _PALETTE % 255 for number in range(count)]
    else:
        missing = [number for number in range(count) if number not in color_mapping]
        if missing:
            raise ValueError(f"{who}: color_mapping must have every class, {missing} are missing")
        colours = [np.asarray(color_mapping[number]) for number in range(count)]
    coloured = plain.copy()
    for number, colour in enumerate(colours):
        coloured[kinds == number] = colour
    if not blend:
        return coloured
    mixed = plain * np.float32(1 - alpha) + coloured * np.float32(alpha)
    kept = (kinds != ignore_index)[..., None]
    found: Array = np.where(kept, mixed, plain).astype(np.uint8)
    return found
