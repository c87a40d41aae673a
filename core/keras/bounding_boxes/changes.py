"""Bounding boxes of images that were cut, padded, or turned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pinnace.keras import ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


def _only(who: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        raise NotImplementedError(
            f"{who}: bounding_box_format must be {' or '.join(known)}, got {given!r}\n"
            "  Try: convert_format before and after"
        )


def clip_to_image_size(
    bounding_boxes: dict[str, Any],
    height: Any = None,
    width: Any = None,
    bounding_box_format: str = "xyxy",
) -> dict[str, Any]:
    """Boxes without what is outside of the image; those with nothing left get the label -1.

    Args:
        bounding_boxes: "boxes" [..., 4] and perhaps "labels" [...].
        height: of the image, in pixels; needed for "xyxy".
        width: likewise.
        bounding_box_format: "xyxy" or "rel_xyxy".

    Returns:
        A dict of the same form.

    Raises:
        NotImplementedError: another format.
        ValueError: the size is not known.
    """
    who = "clip_to_image_size"
    _only(who, bounding_box_format, ("xyxy", "rel_xyxy"))
    boxes = ops.convert_to_tensor(bounding_boxes["boxes"])
    right: Any = 1.0
    bottom: Any = 1.0
    if bounding_box_format == "xyxy":
        if height is None or width is None:
            raise ValueError(
                f"{who}: `height` and `width` must be set if `format='xyxy'`, got {height} and "
                f"{width}"
            )
        right, bottom = ops.cast(width, boxes.dtype), ops.cast(height, boxes.dtype)
    clipped = _clipped(boxes, bottom, right)
    result = {**bounding_boxes, "boxes": clipped}
    labels = bounding_boxes.get("labels")
    if labels is not None:
        x1, y1, x2, y2 = ops.split(clipped, 4, -1)
        area = ops.squeeze((x2 - x1) * (y2 - y1), -1)
        kept = ops.convert_to_tensor(labels)
        result["labels"] = ops.where(area > 0, kept, ops.cast(-1, kept.dtype))
    return result


def _clipped(boxes: Tensor, height: Any, width: Any) -> Tensor:
    x1, y1, x2, y2 = ops.split(boxes, 4, -1)
    across, down = (0, width), (0, height)
    parts = [ops.clip(x1, *across), ops.clip(y1, *down)]
    return ops.concatenate([*parts, ops.clip(x2, *across), ops.clip(y2, *down)], -1)


def _moved(boxes: Any, right: Any, down: Any) -> Tensor:
    x1, y1, x2, y2 = ops.split(ops.convert_to_tensor(boxes), 4, -1)
    return ops.concatenate([x1 + right, y1 + down, x2 + right, y2 + down], -1)


def crop(
    boxes: Any,
    top: Any,
    left: Any,
    height: Any,
    width: Any,
    bounding_box_format: str = "xyxy",
) -> Tensor:
    """Boxes in a part of the image.

    Args:
        boxes: [..., 4].
        top: row where the part begins.
        left: column where it begins.
        height: of the part, in pixels.
        width: likewise.
        bounding_box_format: must be "xyxy".

    Returns:
        [..., 4], inside of the part.

    Raises:
        NotImplementedError: another format.
    """
    _only("crop", bounding_box_format, ("xyxy",))
    return _clipped(_moved(boxes, -left, -top), height, width)


def pad(
    boxes: Any,
    top: Any,
    left: Any,
    height: Any = None,
    width: Any = None,
    bounding_box_format: str = "xyxy",
) -> Tensor:
    """Boxes in an image that has more around it.

    Args:
        boxes: [..., 4].
        top: rows that were added above.
        left: columns that were added on the left.
        height: accepted for Keras' sake; boxes are where they are in any size.
        width: likewise.
        bounding_box_format: must be "xyxy".

    Returns:
        [..., 4].

    Raises:
        NotImplementedError: another format.
    """
    del height, width
    _only("pad", bounding_box_format, ("xyxy",))
    return _moved(boxes, left, top)


def affine_transform(
    boxes: Any,
    angle: Any,
    translate_x: Any,
    translate_y: Any,
    scale: Any,
    shear_x: Any,
    shear_y: Any,
    height: Any,
    width: Any,
    center_x: Any = None,
    center_y: Any = None,
    bounding_box_format: str = "xyxy",
) -> Tensor:
    """The boxes around boxes of images that were turned, moved, scaled and sheared.

    Args:
        boxes: [batch, n, 4].
        angle: [batch], in degrees.
        translate_x: [batch], share of the width.
        translate_y: [batch], share of the height.
        scale: [batch], a factor.
        shear_x: [batch], in degrees.
        shear_y: [batch], in degrees.
        height: of the images, in pixels.
        width: likewise.
        center_x: what stays in its place, as a share of the width; the middle if None.
        center_y: likewise of the height.
        bounding_box_format: must be "xyxy".

    Returns:
        [batch, n, 4], which may reach out of the images.

    Raises:
        NotImplementedError: another format.
    """
    _only("affine_transform", bounding_box_format, ("xyxy",))
    turn = ops.convert_to_tensor(angle)
    kind = turn.dtype if turn.dtype.is_floating else "float32"
    turn, right, down, factor, across, along = (
        ops.cast(x, kind) for x in (turn, translate_x, translate_y, scale, shear_x, shear_y)
    )
    last_column, last_row = ops.cast(width, kind) - 1, ops.cast(height, kind) - 1
    middle_x = (0.5 if center_x is None else center_x) * last_column
    middle_y = (0.5 if center_y is None else center_y) * last_row
    degree = math.pi / 180.0
    # The inverse of what is done to the image: all angles and distances are negative.
    turn, across, along = -turn * degree, -across * degree, -along * degree
    tilted, lean = ops.cos(along), ops.tan(across)
    a = ops.cos(turn - along) / tilted
    c = -ops.sin(turn - along) / tilted
    b = a * lean + ops.sin(turn)
    d = ops.cos(turn) - c * lean
    a0, a1, b0, b1 = d * factor, -b * factor, -c * factor, a * factor
    from_x, from_y = middle_x - right * last_column, middle_y - down * last_row
    a2 = middle_x - a0 * from_x - a1 * from_y
    b2 = middle_y - b0 * from_x - b1 * from_y
    x1, y1, x2, y2 = ops.split(ops.cast(boxes, kind), 4, -1)
    xs, ys = ops.concatenate([x1, x2, x2, x1], -1), ops.concatenate([y1, y1, y2, y2], -1)
    a0, a1, a2, b0, b1, b2 = (part[:, None, None] for part in (a0, a1, a2, b0, b1, b2))
    us, vs = a0 * xs + a1 * ys + a2, b0 * xs + b1 * ys + b2
    least = [ops.min(us, -1), ops.min(vs, -1)]
    return ops.stack([*least, ops.max(us, -1), ops.max(vs, -1)], -1)
