"""How much bounding boxes have in common."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pinnace.keras import ops
from pinnace.keras.bounding_boxes.formats import convert_format
from pinnace.keras.dtype_policy import epsilon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


def _corners(
    who: str, boxes: Any, bounding_box_format: str, image_shape: Sequence[Any] | None
) -> Tensor:
    if "rel" in bounding_box_format and image_shape is None:
        raise ValueError(
            f"{who}: When using relative bounding box formats (e.g. `rel_yxyx`) the `image_shape` "
            f"argument must be provided, got None for {bounding_box_format!r}"
        )
    height, width = (None, None) if image_shape is None else tuple(image_shape)[:2]
    found: Tensor = convert_format(boxes, bounding_box_format, "xyxy", height, width)
    return found


def compute_iou(
    boxes1: Any,
    boxes2: Any,
    bounding_box_format: str,
    use_masking: bool = False,
    mask_val: float = -1,
    image_shape: Sequence[Any] | None = None,
) -> Tensor:
    """Intersection over union of each box of one set with each of another.

    Args:
        boxes1: [m, 4] or [batch, m, 4].
        boxes2: [n, 4] or [batch, n, 4].
        bounding_box_format: see `convert_format`.
        use_masking: whether boxes all of whose numbers are below 0 count as none.
        mask_val: the result for those.
        image_shape: height, width and channels; needed for relative formats.

    Returns:
        [m, n] or [batch, m, n], from 0 to 1.

    Raises:
        ValueError: another format or number of axes.
    """
    who = "compute_iou"
    pair = [ops.convert_to_tensor(x) for x in (boxes1, boxes2)]
    if any(x.shape.rank not in {2, 3} for x in pair):
        raise ValueError(
            f"{who}: compute_iou() expects boxes1 and boxes2 to be batched, or to be unbatched, "
            f"got shapes {pair[0].shape.text} and {pair[1].shape.text}"
        )
    one, other = (_corners(who, x, bounding_box_format, image_shape) for x in pair)
    one, other = ops.expand_dims(one, -2), ops.expand_dims(other, -3)
    first, second = (ops.split(x, 4, -1) for x in (one, other))
    common, both = _areas(first, second)
    found = ops.squeeze(common / (both + epsilon()), -1)
    if not use_masking:
        return found
    absent = ops.logical_or(ops.max(one, -1) < 0.0, ops.max(other, -1) < 0.0)
    return ops.where(absent, ops.ones_like(found) * mask_val, found)


def _areas(first: Any, second: Any) -> tuple[Tensor, Tensor]:
    """Of the intersection and of the union."""
    (left, top, right, bottom), (x1, y1, x2, y2) = first, second
    across = ops.maximum(ops.minimum(right, x2) - ops.maximum(left, x1), 0.0)
    down = ops.maximum(ops.minimum(bottom, y2) - ops.maximum(top, y1), 0.0)
    common = across * down
    return common, (right - left) * (bottom - top) + (x2 - x1) * (y2 - y1) - common


def compute_ciou(
    boxes1: Any,
    boxes2: Any,
    bounding_box_format: str,
    image_shape: Sequence[Any] | None = None,
) -> Tensor:
    """Complete intersection over union of pairs of boxes: less for far ones and other ratios.

    Args:
        boxes1: [..., 4].
        boxes2: [..., 4].
        bounding_box_format: see `convert_format`.
        image_shape: height, width and channels; needed for relative formats.

    Returns:
        [...], up to 1.

    Raises:
        ValueError: another format.

    Source:
        Zheng et al. 2020, "Distance-IoU Loss", equations 7 to 11.
    """
    who, tiny = "compute_ciou", epsilon()
    one, other = (_corners(who, x, bounding_box_format, image_shape) for x in (boxes1, boxes2))
    first, second = (ops.split(x, 4, -1) for x in (one, other))
    (left, top, right, bottom), (x1, y1, x2, y2) = first, second
    wide, tall = right - left, bottom - top + tiny
    width, height = x2 - x1, y2 - y1 + tiny
    across = ops.maximum(ops.minimum(right, x2) - ops.maximum(left, x1), 0.0)
    down = ops.maximum(ops.minimum(bottom, y2) - ops.maximum(top, y1), 0.0)
    common = across * down
    iou = common / (wide * tall + width * height - common + 2 * tiny)
    hull = ops.square(ops.maximum(right, x2) - ops.minimum(left, x1))
    hull = hull + ops.square(ops.maximum(bottom, y2) - ops.minimum(top, y1)) + tiny
    distance = ops.square((left + right) / 2 - (x1 + x2) / 2)
    distance = distance + ops.square((top + bottom) / 2 - (y1 + y2) / 2)
    ratios = ops.square(ops.arctan(width / height) - ops.arctan(wide / tall)) * (4 / math.pi**2)
    weight = ratios / (ratios - iou + (1 + tiny))
    return ops.squeeze(iou - (distance / hull + ratios * weight), -1)
