"""Batches of images of different sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import constants, joining, shapes
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.image import resizing

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = ["resize"]


def resize(images: Any, size: Any, *options: Any, **more: Any) -> Tensor:
    """Images of different sizes, resized to one.

    Args:
        images: [batch, (height), (width), channels], with a known number of images.
        size: [2], int32: the new height and width.
        *options: as of `image.resize`.
        **more: likewise, by name.

    Returns:
        [batch, height, width, channels].

    Raises:
        ValueError: the rank is not 4, or the number of images is unknown.
    """
    if not isinstance(images, RaggedTensor) or images.shape.rank != 4:
        raise ValueError(
            f"image.resize: images.shape.rank must be 4 if images is ragged, got {images.shape}"
        )
    count = images.shape[0]
    if count is None:
        raise ValueError(
            "image.resize: the number of ragged images must be known while tracing\n"
            "  Try: map_fn, with a function of one image"
        )
    if not count:
        known = images.shape[3]
        channels = shapes.shape(images.flat_values)[-1:] if known is None else [known]
        wanted = joining.concat([[0], convert_to_tensor(size, dtypes.int32), channels], 0)
        return constants.zeros(wanted)
    rows = (images[index] for index in range(count))
    dense = (row.to_tensor() if isinstance(row, RaggedTensor) else row for row in rows)
    return joining.stack([resizing.resize(row, size, *options, **more) for row in dense])
