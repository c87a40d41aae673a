"""Bounding boxes as offsets from anchors, which is what detectors learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras import ops
from pinnace.keras.bounding_boxes.formats import convert_format
from pinnace.keras.dtype_policy import epsilon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

_ENCODINGS = ("center_xywh", "center_yxhw")


def _settings(
    who: str, argument: str, encoding: str, variance: Any, image_shape: Sequence[Any] | None
) -> tuple[Tensor | None, dict[str, Any]]:
    if encoding not in _ENCODINGS:
        raise ValueError(
            f"{who}: `{argument}` should be one of 'center_xywh' or 'center_yxhw', got {encoding!r}"
        )
    factors = None
    if variance is not None:
        factors = ops.convert_to_tensor(variance, "float32")
        if factors.shape[-1] != 4:
            raise ValueError(f"{who}: `variance` must be length 4, got {variance!r}")
    height, width = (None, None) if image_shape is None else tuple(image_shape)[:2]
    return factors, {"height": height, "width": width}


def encode_box_to_deltas(
    anchors: Any,
    boxes: Any,
    anchor_format: str,
    box_format: str,
    encoding_format: str = "center_yxhw",
    variance: Sequence[float] | None = None,
    image_shape: Sequence[Any] | None = None,
) -> Tensor:
    """How boxes differ from anchors: distances in sizes of the anchor, logarithms of size ratios.

    Args:
        anchors: [n, 4] or [batch, n, 4].
        boxes: [n, 4] or [batch, n, 4].
        anchor_format: of `anchors`; see `convert_format`.
        box_format: of `boxes`.
        encoding_format: order of the result: "center_xywh" or "center_yxhw".
        variance: four numbers that the result is divided by.
        image_shape: height, width and channels; needed for relative formats.

    Returns:
        [..., 4], float32.

    Raises:
        ValueError: another format, or not four variances.
    """
    factors, sizes = _settings(
        "encode_box_to_deltas", "encoding_format", encoding_format, variance, image_shape
    )
    own = convert_format(anchors, anchor_format, encoding_format, **sizes)
    wanted = convert_format(boxes, box_format, encoding_format, **sizes)
    extent = ops.maximum(own[..., 2:], epsilon())
    ratio = ops.maximum(wanted[..., 2:], epsilon()) / extent
    offsets = (wanted[..., :2] - own[..., :2]) / extent
    deltas = ops.concatenate([offsets, ops.log(ratio)], -1)
    return deltas if factors is None else deltas / factors


def decode_deltas_to_boxes(
    anchors: Any,
    boxes_delta: Any,
    anchor_format: str,
    box_format: str,
    encoded_format: str = "center_yxhw",
    variance: Sequence[float] | None = None,
    image_shape: Sequence[Any] | None = None,
) -> Any:
    """The boxes that `encode_box_to_deltas` gives these differences for.

    Args:
        anchors: [n, 4] or [batch, n, 4], or a dict of them by level.
        boxes_delta: [..., 4], or a dict of them by level.
        anchor_format: of `anchors`; see `convert_format`.
        box_format: of the result.
        encoded_format: order of `boxes_delta`: "center_xywh" or "center_yxhw".
        variance: four numbers that `boxes_delta` is multiplied by.
        image_shape: height, width and channels; needed for relative formats.

    Returns:
        [..., 4], float32, or a dict of them.

    Raises:
        ValueError: another format, or not four variances.
    """
    factors, sizes = _settings(
        "decode_deltas_to_boxes", "encoded_format", encoded_format, variance, image_shape
    )

    def decoded(anchor: Any, delta: Any) -> Tensor:
        own = convert_format(anchor, anchor_format, encoded_format, **sizes)
        offsets = ops.convert_to_tensor(delta)
        offsets = offsets if factors is None else offsets * factors
        places = offsets[..., :2] * own[..., 2:] + own[..., :2]
        extents = ops.exp(offsets[..., 2:]) * own[..., 2:]
        both = ops.concatenate([places, extents], -1)
        box: Tensor = convert_format(both, encoded_format, box_format, **sizes)
        return box

    if isinstance(anchors, dict) and isinstance(boxes_delta, dict):
        return {level: decoded(anchor, boxes_delta[level]) for level, anchor in anchors.items()}
    return decoded(anchors, boxes_delta)
