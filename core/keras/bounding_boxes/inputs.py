"""Bounding boxes as layers are given them: dense, ragged, or lists."""

from __future__ import annotations

from typing import Any

from pinnace.framework.composite import is_composite
from pinnace.keras import ops

# What fills a ragged batch up.
_NO_BOX, _NO_LABEL = 0, -1


def dense_boxes(who: str, bounding_boxes: Any) -> dict[str, Any]:
    """Boxes and labels as tensors of one size per image.

    Args:
        who: for messages.
        bounding_boxes: "boxes" [batch, n, 4] or [n, 4] and "labels" [batch, n] or [n]; or ragged
            tensors or nested lists, which are filled up with 0 and the label -1.

    Returns:
        The dict with boxes in float32.

    Raises:
        ValueError: one of both is missing, or they do not fit.
    """
    if not isinstance(bounding_boxes, dict) or not {"boxes", "labels"} <= bounding_boxes.keys():
        raise ValueError(
            f"{who}: Expected `bounding_boxes` argument to be a dict with keys 'boxes' and "
            f"'labels', got {bounding_boxes!r}"
        )
    boxes, labels = bounding_boxes["boxes"], bounding_boxes["labels"]
    if is_composite(boxes) != is_composite(labels):
        raise ValueError(
            f"{who}: If `bounding_boxes['boxes']` is a Ragged tensor, "
            "`bounding_boxes['labels']` must also be a Ragged tensor, and the reverse"
        )
    if is_composite(boxes):
        wide = [None, None, 4]
        boxes = boxes.to_tensor(default_value=_NO_BOX, shape=wide)
        labels = labels.to_tensor(default_value=_NO_LABEL)
    elif isinstance(boxes, list) and isinstance(labels, list):
        boxes, labels = _filled_up(who, boxes, labels)
    boxes, labels = ops.cast(boxes, "float32"), ops.convert_to_tensor(labels)
    ranks = (boxes.shape.rank, labels.shape.rank)
    if ranks[0] not in {2, 3} or ranks[1] not in {ranks[0] - 1, ranks[0]}:
        raise ValueError(
            f"{who}: Expected `bounding_boxes['boxes']` to have shape (num_boxes, 4) or "
            "(batch_size, num_boxes, 4), and a label for each box, got shapes "
            f"{boxes.shape.text} and {labels.shape.text}"
        )
    return {**bounding_boxes, "boxes": boxes, "labels": labels}


def _filled_up(who: str, boxes: list[Any], labels: list[Any]) -> tuple[list[Any], list[Any]]:
    if len(boxes) != len(labels):
        raise ValueError(
            f"{who}: If `bounding_boxes['boxes']` and `bounding_boxes['labels']` are both lists, "
            f"they must have the same length, got {len(boxes)} and {len(labels)}"
        )
    if not (boxes and isinstance(labels[0], list)):
        return boxes, labels
    most = max(len(one) for one in boxes)
    return (
        [[*one, *[[_NO_BOX] * 4] * (most - len(one))] for one in boxes],
        [[*one, *[_NO_LABEL] * (most - len(one))] for one in labels],
    )
