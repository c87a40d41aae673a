"""Batches of images as arrays, channels last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.keras.config import image_data_format

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array


def image_batch(who: str, images: Any, data_format: str | None) -> Array:
    """A copy of images or masks as an array [batch, height, width, channels].

    Raises:
        ValueError: there is no batch, or another data format.
    """
    form = data_format or image_data_format()
    if form not in {"channels_last", "channels_first"}:
        raise ValueError(
            f"{who}: data_format must be channels_last or channels_first, got {data_format!r}"
        )
    array = np.array(images)
    if array.ndim != 4:
        raise ValueError(
            f"{who}: `images` must be batched 4D tensor, got shape {list(array.shape)}"
        )
    return array.transpose(0, 2, 3, 1).copy() if form == "channels_first" else array
