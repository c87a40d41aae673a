"""Formats of bounding boxes: corners or a middle, sizes, pixels or shares of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras import ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor

    Four = tuple[Tensor, Tensor, Tensor, Tensor]
    Conversion = Callable[..., Four]

# From a format to the corners x1, y1, x2, y2.
_TO_CORNERS: dict[str, Conversion] = {
    "xyxy": lambda x1, y1, x2, y2: (x1, y1, x2, y2),
    "yxyx": lambda y1, x1, y2, x2: (x1, y1, x2, y2),
    "xywh": lambda x, y, w, h: (x, y, x + w, y + h),
    "center_xywh": lambda x, y, w, h: (x - w / 2.0, y - h / 2.0, x + w / 2.0, y + h / 2.0),
    "center_yxhw": lambda y, x, h, w: (x - w / 2.0, y - h / 2.0, x + w / 2.0, y + h / 2.0),
}
_FROM_CORNERS: dict[str, Conversion] = {
    "xyxy": lambda x1, y1, x2, y2: (x1, y1, x2, y2),
    "yxyx": lambda x1, y1, x2, y2: (y1, x1, y2, x2),
    "xywh": lambda x1, y1, x2, y2: (x1, y1, x2 - x1, y2 - y1),
    "center_xywh": lambda x1, y1, x2, y2: (
        *(x1 + (x2 - x1) / 2.0, y1 + (y2 - y1) / 2.0),
        *(x2 - x1, y2 - y1),
    ),
    "center_yxhw": lambda x1, y1, x2, y2: (
        *(y1 + (y2 - y1) / 2.0, x1 + (x2 - x1) / 2.0),
        *(y2 - y1, x2 - x1),
    ),
}
_RELATIVE = ("rel_xyxy", "rel_yxyx", "rel_xywh", "rel_center_xywh")
FORMATS = (*_TO_CORNERS, *_RELATIVE)


def convert_format(
    boxes: Any,
    source: str,
    target: str,
    height: Any = None,
    width: Any = None,
    dtype: Any = "float32",
) -> Any:
    """Boxes in another format.

    Args:
        boxes: [..., 4], or a dict that has them as "boxes".
        source: their format: "xyxy" (left, top, right, bottom), "yxyx", "xywh" (left, top, width,
            height), "center_xywh", "center_yxhw", in pixels; or "rel_xyxy", "rel_yxyx", "rel_xywh",
            "rel_center_xywh", in shares of the image. Case does not matter.
        target: the format of the result.
        height: of the image, in pixels; needed between pixels and shares.
        width: likewise.
        dtype: of the result.

    Returns:
        [..., 4], or a dict that differs from the given one in its "boxes".

    Raises:
        ValueError: another format, boxes that are not four numbers, or an unknown size.
    """
    if isinstance(boxes, dict):
        changed = convert_format(boxes["boxes"], source, target, height, width, dtype)
        return {**boxes, "boxes": changed}
    tensor = ops.convert_to_tensor(boxes)
    if tensor.shape[-1] != 4:
        raise ValueError(
            "convert_format: `boxes` must be a tensor with the last dimension of 4, got shape "
            f"{tensor.shape.text}"
        )
    old, new = source.lower(), target.lower()
    if old not in FORMATS or new not in FORMATS:
        raise ValueError(
            f"convert_format: Invalid source or target format: both must be one of "
            f"{', '.join(FORMATS)}, got {source!r} and {target!r}"
        )
    relative = (old.startswith("rel_"), new.startswith("rel_"))
    if any(relative) and (height is None or width is None):
        raise ValueError(
            "convert_format: must receive `height` and `width` for relative formats, got "
            f"height={height} and width={width} for {source!r} and {target!r}"
        )
    tensor = ops.cast(tensor, dtype)
    if old == new:
        return tensor
    corners = _TO_CORNERS[old.removeprefix("rel_")](*ops.split(tensor, 4, -1))
    if relative == (True, False):
        corners = _scaled(corners, ops.cast(height, dtype), ops.cast(width, dtype))
    elif relative == (False, True):
        corners = _scaled(corners, 1.0 / ops.cast(height, dtype), 1.0 / ops.cast(width, dtype))
    return ops.concatenate(list(_FROM_CORNERS[new.removeprefix("rel_")](*corners)), -1)


def _scaled(corners: Four, height: Tensor, width: Tensor) -> Four:
    x1, y1, x2, y2 = corners
    return x1 * width, y1 * height, x2 * width, y2 * height
