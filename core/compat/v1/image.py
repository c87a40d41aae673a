"""`tf.compat.v1.image`: resizing with version 1's pixel coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.compat.v1.names import giver, lister
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops import raw_ops
from pinnace.ops.array import reshaping
from pinnace.ops.image import drawing

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor

_BATCH_RANK = 4


class ResizeMethod:
    """Resizing methods by number."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


def resize_bilinear(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:  # fmt: skip
    """Images resized by linear interpolation.

    Args:
        images: [batch, height, width, channels], a real dtype.
        size: [2], int32: the new height and width.
        align_corners: the centres of the corner pixels stay where they are.
        name: name of the node while tracing.
        half_pixel_centers: pixels are where their centres are; not with align_corners.

    Returns:
        [batch, *size, channels], float32.
    """
    found: Tensor = raw_ops.ResizeBilinear(
        images=images,
        size=size,
        align_corners=align_corners,
        half_pixel_centers=half_pixel_centers,
        name=name,
    )
    return found


def resize_nearest_neighbor(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:  # fmt: skip
    """Images resized to the nearest pixels, in their dtype. See `resize_bilinear`."""
    found: Tensor = raw_ops.ResizeNearestNeighbor(
        images=images,
        size=size,
        align_corners=align_corners,
        half_pixel_centers=half_pixel_centers,
        name=name,
    )
    return found


def resize_bicubic(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:  # fmt: skip
    """Images resized by cubic interpolation. See `resize_bilinear`."""
    found: Tensor = raw_ops.ResizeBicubic(
        images=images,
        size=size,
        align_corners=align_corners,
        half_pixel_centers=half_pixel_centers,
        name=name,
    )
    return found


def resize_area(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Images resized by averaging areas. See `resize_bilinear`."""
    found: Tensor = raw_ops.ResizeArea(
        images=images, size=size, align_corners=align_corners, name=name
    )
    return found


_METHODS: dict[int, Callable[..., Tensor]] = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
}
_BY_NAME = {
    "bilinear": ResizeMethod.BILINEAR,
    "nearest": ResizeMethod.NEAREST_NEIGHBOR,
    "bicubic": ResizeMethod.BICUBIC,
    "area": ResizeMethod.AREA,
}


def resize_images(
    images: Any, size: Any, method: Any = ResizeMethod.BILINEAR, align_corners: bool = False,
    preserve_aspect_ratio: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Images resized to another height and width.

    Args:
        images: [batch, height, width, channels] or [height, width, channels], a real dtype.
        size: [2]: the new height and width.
        method: one of `ResizeMethod`, or of version 2's words for them.
        align_corners: the centres of the corner pixels stay where they are.
        preserve_aspect_ratio: as large as fits into `size` without distortion.
        name: name of the node while tracing.

    Returns:
        The resized images, float32; images of the requested size are unchanged, and the nearest
        neighbour keeps their dtype.

    Raises:
        ValueError: the method is unknown, or the images have neither three nor four axes.
    """
    pictures = convert_to_tensor(images)
    rank = pictures.shape.rank
    if rank not in (_BATCH_RANK - 1, _BATCH_RANK):
        raise ValueError(f"resize_images: images must have three or four axes, got {rank}")
    batch = pictures if rank == _BATCH_RANK else reshaping.expand_dims(pictures, 0)
    number = _BY_NAME.get(method, method) if isinstance(method, str) else method
    if number not in _METHODS:
        raise ValueError(f"resize_images: method must be one of {sorted(_METHODS)}, got {method!r}")
    height, width = (int(one) for one in np.asarray(size).tolist())
    before = (batch.shape[1], batch.shape[2])
    if preserve_aspect_ratio:
        rows, columns = before
        if rows is None or columns is None:
            raise ValueError(
                "resize_images: with preserve_aspect_ratio the size of the images must be known"
            )
        scale = min(np.float32(height / rows), np.float32(width / columns))
        height, width = (round(float(np.float32(one) * scale)) for one in (rows, columns))
    if before != (height, width):
        batch = _METHODS[number](batch, [height, width], align_corners=align_corners, name=name)
    return batch if rank == _BATCH_RANK else reshaping.squeeze(batch, [0])


resize = resize_images


def draw_bounding_boxes(
    images: Any, boxes: Any, name: str | None = None, colors: Any = None
) -> Tensor:
    """Images with the outlines of boxes; see `tf.image.draw_bounding_boxes`.

    Args:
        images: [batch, height, width, channels].
        boxes: [batch, boxes, 4]: top, left, bottom, right, in shares of the image.
        name: name of the node while tracing.
        colors: [colors, channels], taken in turn; None: those of TensorFlow.
    """
    return drawing.draw_bounding_boxes(images, boxes, colors, name)


__getattr__ = giver("tf.image", globals())
__dir__ = lister("tf.image", globals())
