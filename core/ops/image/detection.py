"""The final ops of detectors: CombinedNonMaxSuppression and similar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute_all, execute_one
from pinnace.ops.image import suppression
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["combined_non_max_suppression", "non_max_suppression_overlaps"]


def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: TensorLike,
    max_total_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The boxes of each image, without those that overlap a better one of their class.

    Args:
        boxes: [batch, n, q, 4], float32: y1, x1, y2, x2; q is 1, or the number of classes.
        scores: [batch, n, classes], float32.
        max_output_size_per_class: at most how many of a class, an int32 scalar.
        max_total_size: at most how many of a picture, an int32 scalar.
        iou_threshold: boxes whose intersection is more than this share of their union overlap.
        score_threshold: boxes of this score or less are left out.
        pad_per_class: no more rows than max_output_size_per_class * classes.
        clip_boxes: corners are cut off at 0 and 1.
        name: name of the node while tracing.

    Returns:
        Boxes [batch, m, 4], scores [batch, m], classes [batch, m], float32, filled up with zeros,
        and the number of valid ones, int32 [batch].
    """
    return execute_all(
        COMBINED_NON_MAX_SUPPRESSION,
        boxes,
        scores,
        max_output_size_per_class,
        max_total_size,
        iou_threshold,
        score_threshold,
        pad_per_class=pad_per_class,
        clip_boxes=clip_boxes,
        name=name,
    )


def _combined_kernel(
    boxes: Array,
    scores: Array,
    max_output_size_per_class: Array,
    max_total_size: Array,
    iou_threshold: Array,
    score_threshold: Array,
    *,
    pad_per_class: bool,
    clip_boxes: bool,
) -> tuple[Array, Array, Array, Array]:
    per_class, total = int(max_output_size_per_class), int(max_total_size)
    if per_class <= 0 or total <= 0:
        raise InvalidArgumentError(
            "CombinedNonMaxSuppression: max_output_size_per_class and max_total_size must be "
            f"above 0, got {per_class} and {total}"
        )
    batch, _, classes = scores.shape
    rows = min(total, per_class * classes) if pad_per_class else total
    out = np.zeros((batch, rows, 4), np.float32)
    values, labels = np.zeros((2, batch, rows), np.float32)
    counts = np.zeros(batch, np.int32)
    for b in range(batch):
        found = []
        for label in range(classes):
            of_class = boxes[b, :, label if boxes.shape[2] > 1 else 0]
            kept, best = suppression.selected(
                "CombinedNonMaxSuppression",
                of_class,
                scores[b, :, label],
                max_output_size_per_class,
                iou_threshold,
                score_threshold,
            )
            found += [(s, label, of_class[i]) for s, i in zip(best, kept, strict=True)]
        found.sort(key=lambda one: -one[0])
        counts[b] = min(len(found), rows)
        for i, (score, label, box) in enumerate(found[:rows]):
            values[b, i], labels[b, i] = score, label
            out[b, i] = np.clip(box, 0, 1) if clip_boxes else box
    return out, values, labels, counts


def _infer_combined(call: InferCall) -> tuple[Shape, ...]:
    boxes, scores = call.spec(0).shape, call.spec(1).shape
    if not boxes.is_compatible_with([None, None, None, 4]):
        call.fail("boxes must be [batch, n, 1 or classes, 4]")
    if not scores.is_compatible_with([None] * 3):
        call.fail("scores must be [batch, n, classes]")
    if boxes.rank and scores.rank:
        if not boxes[:2].is_compatible_with(scores[:2]):
            call.fail("boxes and scores must have the same batch and number of boxes")
        if boxes[2] not in (None, 1) and scores[2] not in (None, boxes[2]):
            call.fail("boxes must be one, or one of each class of scores")
    total, per_class = call.constant(3), call.constant(2)
    rows = None if total is None else int(total)
    if call.attrs["pad_per_class"] and rows is not None:
        classes = scores[2] if scores.rank else None
        known = classes is not None and per_class is not None
        rows = min(rows, int(per_class) * classes) if known else None  # type: ignore[arg-type, operator]
    batch = boxes[0] if boxes.rank else (scores[0] if scores.rank else None)
    return Shape([batch, rows, 4]), Shape([batch, rows]), Shape([batch, rows]), Shape([batch])


COMBINED_NON_MAX_SUPPRESSION = define(
    name="CombinedNonMaxSuppression",
    signature=(
        "boxes: float32, scores: float32, max_output_size_per_class: int32, "
        "max_total_size: int32, iou_threshold: float32, score_threshold: float32 -> "
        "nmsed_boxes: float32, nmsed_scores: float32, nmsed_classes: float32, "
        "valid_detections: int32"
    ),
    attrs={"pad_per_class": attr("bool", default=False), "clip_boxes": attr("bool", default=True)},
    infer=_infer_combined,
    kernel=_combined_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The best of `scores` [n], without those that overlap a better one.

    Args:
        overlaps: [n, n], float32, of any kind.
        scores: [n], float32.
        max_output_size: at most how many, an int32 scalar.
        overlap_threshold: more than this is an overlap.
        score_threshold: boxes of this score or less are left out.
        name: name of the node while tracing.

    Returns:
        [m], int32: indices, best first.
    """
    return execute_one(
        NON_MAX_SUPPRESSION_WITH_OVERLAPS,
        overlaps,
        scores,
        max_output_size,
        overlap_threshold,
        score_threshold,
        name=name,
    )


def _overlaps_kernel(
    overlaps: Array,
    scores: Array,
    max_output_size: Array,
    overlap_threshold: Array,
    score_threshold: Array,
) -> Array:
    if overlaps.shape != (len(scores), len(scores)):
        raise InvalidArgumentError(
            "NonMaxSuppressionWithOverlaps: overlaps must be square, with a row per score, got "
            f"shapes {list(overlaps.shape)} and {list(scores.shape)}"
        )
    if max_output_size < 0:
        raise InvalidArgumentError(
            "NonMaxSuppressionWithOverlaps: max_output_size must be non-negative, got "
            f"{max_output_size}"
        )
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable").tolist():
        if len(kept) >= int(max_output_size) or not scores[i] > score_threshold:
            break
        if not (overlaps[i, kept] > overlap_threshold).any():
            kept.append(i)
    return np.array(kept, np.int32)


def _infer_overlaps(call: InferCall) -> Shape:
    if not call.spec(0).shape.is_compatible_with([None, None]):
        call.fail("overlaps must be a matrix")
    if not call.spec(1).shape.is_compatible_with([None]):
        call.fail("scores must be a vector")
    for index in (2, 3, 4):
        if call.spec(index).shape.rank not in {None, 0}:
            call.fail(f"{call.op.inputs[index].name} must be a scalar")
    return Shape([None])


NON_MAX_SUPPRESSION_WITH_OVERLAPS = define(
    name="NonMaxSuppressionWithOverlaps",
    signature=(
        "overlaps: float32, scores: float32, max_output_size: int32, "
        "overlap_threshold: float32, score_threshold: float32 -> selected_indices: int32"
    ),
    infer=_infer_overlaps,
    kernel=_overlaps_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _v1_kernel(
    boxes: Array, scores: Array, max_output_size: Array, *, iou_threshold: float
) -> Array:
    least, most = np.array(-np.inf, np.float32), np.array(iou_threshold, np.float32)
    op = "NonMaxSuppression"
    return suppression.selected(op, boxes, scores, max_output_size, most, least)[0]


def _infer_v1(call: InferCall) -> Shape:
    if not call.spec(0).shape.is_compatible_with([None, 4]):
        call.fail("boxes must have four numbers each")
    return Shape([None])


NON_MAX_SUPPRESSION = define(
    name="NonMaxSuppression",
    signature=(
        "boxes: float32, scores: float32, max_output_size: int32 -> selected_indices: int32"
    ),
    attrs={"iou_threshold": attr("float", default=0.5)},
    infer=_infer_v1,
    kernel=_v1_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
