"""`keras.preprocessing.image.smart_resize`: resizing by cropping, without distortion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.ops import image
from pinnace.ops.array import casting, permutations, shapes
from pinnace.ops.math import arithmetic

if TYPE_CHECKING:
    from collections.abc import Sequence

_WHO = "smart_resize"


def smart_resize(
    x: Any,
    size: Sequence[int],
    interpolation: str = "bilinear",
    data_format: str = "channels_last",
) -> Any:
    """The largest centred part with the proportions of `size`, resized to it.

    Args:
        x: a picture [height, width, channels] or several [batch, height, width, channels], numbers
            of any dtype; channels before height for `channels_first`.
        size: (height, width) of the result.
        interpolation: `bilinear`, `nearest`, `bicubic`, `lanczos3` or `lanczos5`.
        data_format: `channels_last` or `channels_first`.

    Returns:
        Pictures of that size, float32 unless `nearest` keeps the dtype of `x`: an array if `x` is
        one, else a tensor.

    Raises:
        ValueError: `size` has not two numbers, `x` not three or four axes, or there is no such
            `data_format`.
    """
    if len(size) != 2:
        raise ValueError(f"{_WHO}: size must be (height, width), got {tuple(size)}")
    if data_format not in {"channels_last", "channels_first"}:
        raise ValueError(
            f"{_WHO}: data_format must be channels_last or channels_first, got {data_format!r}"
        )
    pictures = convert_to_tensor(x)
    rank = pictures.shape.rank
    if rank not in {3, 4}:
        raise ValueError(
            f"{_WHO}: x must have 3 axes, or 4 with a batch in front, got shape {pictures.shape}"
        )
    first = data_format == "channels_first"
    if first:
        pictures = permutations.transpose(
            pictures, [*range(rank - 3), rank - 2, rank - 1, rank - 3]
        )
    cropped = _cropped(pictures, int(size[0]), int(size[1]))
    made = image.resize(cropped, [int(size[0]), int(size[1])], interpolation)
    if first:
        made = permutations.transpose(made, [*range(rank - 3), rank - 1, rank - 3, rank - 2])
    return made.numpy() if isinstance(x, np.ndarray) else made


def _cropped(pictures: Any, height: int, width: int) -> Any:
    have = pictures.shape.as_list()[-3:-1]
    if None in have:
        sizes = shapes.shape(pictures)[-3:-1]
        tall = _part(sizes[1] * height, width, sizes[0])
        wide = _part(sizes[0] * width, height, sizes[1])
        top, left = (sizes[0] - tall) // 2, (sizes[1] - wide) // 2
    else:
        tall = max(min(have[0], int(have[1] * height / width)), 1)
        wide = max(min(have[1], int(have[0] * width / height)), 1)
        top, left = (have[0] - tall) // 2, (have[1] - wide) // 2
    return pictures[..., top : top + tall, left : left + wide, :]


def _part(product: Any, by: int, most: Any) -> Any:
    """`product / by`, truncated and clipped to [1, most]."""
    found = casting.cast(casting.cast(product, "float32") / float(by), "int32")
    return arithmetic.maximum(arithmetic.minimum(found, most), 1)
