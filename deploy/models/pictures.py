"""Image files as arrays for a model's input."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.extras import install_command

if TYPE_CHECKING:
    import os

    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Array

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp"})
_MOST_PIXELS = 1 << 28


@dataclass(frozen=True, slots=True)
class PictureScale:
    """The values of the brightest and the darkest pixel."""

    low: float
    high: float


SCALES = {"255": PictureScale(0, 255), "1": PictureScale(0, 1), "-1": PictureScale(-1, 1)}


def read_picture(
    path: str | os.PathLike[str], data: bytes, spec: TensorSpec, scale: PictureScale
) -> Array:
    """Decode an image to the size, number of channels and layout of an input.

    Args:
        path: the file's path, for messages.
        data: the file's content.
        spec: the input; its last three axes are those of an image, and unknown ones take any size.
        scale: the scaling for float inputs.

    Returns:
        [height, width, channels] or [channels, height, width], as float32 in that scale, or as
        uint8 for integer inputs.

    Raises:
        InvalidArgumentError: the data is not an image, or Pillow is not installed.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise InvalidArgumentError(
            f"{path} needs Pillow to be read\n  Try: {install_command('image')}"
        ) from None
    dims = spec.shape.dims
    sizes = [None, None, None] if dims is None else list(dims[-3:])
    first = len(sizes) == 3 and sizes[0] in (1, 3, 4) and sizes[2] not in (1, 3, 4)
    if first:
        sizes = [sizes[1], sizes[2], sizes[0]]
    colours = sizes[2] if len(sizes) == 3 else 1
    try:
        with Image.open(io.BytesIO(data)) as opened:
            if opened.width * opened.height > _MOST_PIXELS:
                raise InvalidArgumentError(f"{path} has more than {_MOST_PIXELS:,} pixels")
            picture = opened.convert({1: "L", 4: "RGBA"}.get(colours or 3, "RGB"))
    except (UnidentifiedImageError, OSError) as error:
        raise InvalidArgumentError(f"{path} is not an image: {error}") from None
    high, wide = sizes[0] or picture.height, sizes[1] or picture.width
    if (wide, high) != picture.size:
        picture = picture.resize((wide, high), Image.Resampling.BILINEAR)
    array = np.asarray(picture)
    if len(sizes) == 3 and array.ndim == 2:
        array = array[:, :, None]
    if first:
        array = np.moveaxis(array, -1, 0)
    if spec.dtype.numpy.kind in "iub":
        return array
    width = scale.high - scale.low
    return array.astype(np.float32) * np.float32(width / 255) + np.float32(scale.low)
