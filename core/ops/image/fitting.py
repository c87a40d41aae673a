"""Images resized to fit into a frame and padded with zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import float32, int32
from pinnace.ops.array import casting, joining, reshaping, shapes
from pinnace.ops.image import cropping, resizing
from pinnace.ops.math import arithmetic, rounding

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike

__all__ = ["resize_with_pad"]


def resize_with_pad(
    image: TensorLike,
    target_height: Any,
    target_width: Any,
    method: Any = "bilinear",
    antialias: bool = False,
) -> Tensor:
    """An image resized without distortion, and padded with zeros to the target size.

    Args:
        image: [height, width, channels], or with a batch before.
        target_height: rows of the result.
        target_width: columns of the result.
        method: as for `resize`.
        antialias: as for `resize`.

    Returns:
        [..., target_height, target_width, channels].

    Raises:
        ValueError: neither 3 nor 4 axes.
    """
    x = convert_to_tensor(image)
    if x.shape.rank not in (3, 4):
        raise ValueError(f"resize_with_pad: image must have 3 or 4 axes, got shape {x.shape}")
    whole = x if x.shape.rank == 4 else reshaping.expand_dims(x, 0)
    sizes = [casting.cast(size, float32) for size in shapes.axis_sizes(whole)[1:3]]
    targets = [casting.cast(size, float32) for size in (target_height, target_width)]
    ratio = arithmetic.maximum(sizes[1] / targets[1], sizes[0] / targets[0])
    inner = [size / ratio for size in sizes]
    before = [
        arithmetic.maximum(casting.cast(rounding.floor((target - size) / 2), int32), 0)
        for target, size in zip(targets, inner, strict=True)
    ]
    small = joining.stack([casting.cast(rounding.floor(size), int32) for size in inner])
    resized = resizing.resize(whole, small, method, antialias=antialias)
    framed = cropping.pad_to_bounding_box(
        resized, before[0], before[1], target_height, target_width
    )
    return framed if x.shape.rank == 4 else reshaping.squeeze(framed, [0])
