"""Bounding boxes drawn on images: DrawBoundingBoxes, DrawBoundingBoxesV2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import float16, float32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.execute import execute_one
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["draw_bounding_boxes"]

# TensorFlow's own, RGBA: yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
_COLOURS = np.array(
    [
        *([1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1]),
        *([0.5, 0.5, 0, 1], [0.5, 0, 0, 1], [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1]),
    ],
    np.float32,
)


def _infer(call: InferCall) -> Shape:
    images, boxes = call.spec(0).shape, call.spec(1).shape
    if not images.is_compatible_with([None] * 4):
        call.fail("images must have 4 axes: batch, height, width, channels")
    if not boxes.is_compatible_with([images[0] if images.rank else None, None, 4]):
        call.fail("boxes must be [batch, n, 4], with the batch of images")
    if images.rank and images[3] not in (None, 1, 3, 4):
        call.fail(f"images must have 1, 3 or 4 channels, got {images[3]}")
    return images


def _drawn(images: Array, boxes: Array, colours: Array) -> Array:
    out = images.copy()
    height, width, channels = images.shape[1:]
    table = np.zeros((len(colours), channels), np.float32)
    shared = min(channels, colours.shape[1])
    table[:, :shared] = colours[:, :shared]
    if channels == 1 and colours is _COLOURS:
        table[:] = 1
    # TensorFlow: towards zero, in float32.
    limits = np.array([height - 1, width - 1, height - 1, width - 1], np.float32)
    for image, rows in zip(out, boxes, strict=True):
        for number, (top, left, bottom, right) in enumerate((rows * limits).astype(np.int64)):
            if top > bottom or left > right or top >= height or bottom < 0 or left >= width:
                continue
            if right < 0:
                continue
            colour = table[number % len(table)].astype(images.dtype)
            down = slice(max(top, 0), min(bottom, height - 1) + 1)
            across = slice(max(left, 0), min(right, width - 1) + 1)
            for row in (top, bottom):
                if 0 <= row < height:
                    image[row, across] = colour
            for column in (left, right):
                if 0 <= column < width:
                    image[down, column] = colour
    return out


def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, colors: TensorLike | None, name: str | None = None
) -> Tensor:
    """Images with outlines of boxes, one pixel wide.

    Args:
        images: [batch, height, width, 1, 3 or 4], float16 or float32.
        boxes: [batch, n, 4], float32: y1, x1, y2, x2, where 0 and 1 are the ends of the picture;
            what is outside is left out.
        colors: [m, channels], float32, used cyclically; None for ten of TensorFlow's.
        name: name of the node while tracing.

    Source:
        TensorFlow ops `DrawBoundingBoxes` and `DrawBoundingBoxesV2` (image_ops.cc).
    """
    x = convert_to_tensor(images)
    if colors is None:
        return execute_one(DRAW_BOUNDING_BOXES, x, boxes, name=name)
    return execute_one(DRAW_BOUNDING_BOXES_V2, x, boxes, colors, name=name)


def _v1_kernel(images: Array, boxes: Array) -> Array:
    return _drawn(images, boxes, _COLOURS)


DRAW_BOUNDING_BOXES = define(
    name="DrawBoundingBoxes",
    signature="images: T, boxes: float32 -> output: T",
    types={"T": typed({float16, float32}, default=float32)},
    infer=_infer,
    kernel=_v1_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _v2_kernel(images: Array, boxes: Array, colors: Array) -> Array:
    if colors.ndim != 2 or (len(colors) and colors.shape[1] < images.shape[3]):
        raise InvalidArgumentError(
            f"DrawBoundingBoxesV2: colors must be a matrix with the {images.shape[3]} channels of "
            f"images, got shape {list(colors.shape)}"
        )
    return _drawn(images, boxes, colors if len(colors) else _COLOURS)


DRAW_BOUNDING_BOXES_V2 = define(
    name="DrawBoundingBoxesV2",
    signature="images: T, boxes: float32, colors: float32 -> output: T",
    types={"T": typed({float16, float32}, default=float32)},
    infer=_infer,
    kernel=_v2_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
