"""Non-maximum suppression of boxes: NonMaxSuppressionV3 to V5."""

import heapq
from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import float16, float32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.execute import execute, execute_all, execute_one
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, attr, typed
from pinnace.ops.registry import define

__all__ = ["non_max_suppression", "non_max_suppression_padded", "non_max_suppression_with_scores"]

_TYPES = typed({float16, float32}, default=float32)


def _corners(boxes: Array) -> Array:
    """[n, 4]: the lowest and highest y and x of each box."""
    y, x = np.sort(boxes[:, ::2], axis=1), np.sort(boxes[:, 1::2], axis=1)
    return np.stack([y[:, 0], x[:, 0], y[:, 1], x[:, 1]], axis=1)


def _overlaps(box: Array, others: Array) -> Array:
    """Intersection over union of a box with each of the others; 0 if either has no area."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.prod(np.maximum(high - low, 0), axis=1)
    area = np.prod(box[2:] - box[:2])
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1)
    usable = (areas > 0) & (area > 0)
    return np.where(usable, shared / np.where(usable, area + areas - shared, 1), 0)


def _check_limits(op: str, limit: int, threshold: float, sigma: float) -> None:
    if limit < 0:
        raise InvalidArgumentError(f"{op}: max_output_size must not be negative, got {limit}")
    if not 0 <= threshold <= 1:
        raise InvalidArgumentError(f"{op}: iou_threshold must be in [0, 1], got {threshold}")
    if sigma < 0:
        raise InvalidArgumentError(f"{op}: soft_nms_sigma must be at least 0, got {sigma}")


def _infer(call: InferCall) -> tuple[Shape, ...]:
    boxes, scores = call.spec(0).shape, call.spec(1).shape
    if not boxes.is_compatible_with([None, 4]):
        call.fail("boxes must have four numbers each")
    if not scores.is_compatible_with([None if boxes.rank is None else boxes[0]]):
        call.fail("scores must have one entry per box")
    for index in range(2, len(call.inputs)):
        if call.spec(index).shape.rank not in {None, 0}:
            call.fail(f"{call.op.inputs[index].name} must be a scalar")
    most = call.constant(2)
    if most is not None and most.ndim == 0 and most < 0:
        call.fail(f"max_output_size must not be negative, got {most}")
    fixed = call.attrs.get("pad_to_max_output_size") and most is not None
    row = Shape([int(most) if fixed and most is not None else None])
    return {1: (row,), 2: (row, Shape(())), 3: (row, row, Shape(()))}[len(call.op.outputs)]


def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The boxes of the highest scores, without those that overlap a better one.

    Args:
        boxes: [n, 4], float32: two opposite corners, y1, x1, y2, x2.
        scores: [n], float32.
        max_output_size: at most how many, an int32 scalar.
        iou_threshold: boxes whose intersection is more than this share of their union overlap.
        score_threshold: boxes of this score or less are left out.
        name: name of the node while tracing.

    Returns:
        [m], int32: indices of boxes, best first.

    Raises:
        InvalidArgumentError: shapes do not fit, or a threshold is out of range.
    """
    found = convert_to_tensor(boxes)
    return execute_one(
        NON_MAX_SUPPRESSION_V3,
        found,
        scores,
        max_output_size,
        convert_to_tensor(iou_threshold, dtype_hint=found.dtype),
        convert_to_tensor(score_threshold, dtype_hint=found.dtype),
        name=name,
    )


def _v3_kernel(
    boxes: Array,
    scores: Array,
    max_output_size: Array,
    iou_threshold: Array,
    score_threshold: Array,
) -> Array:
    return selected(
        "NonMaxSuppressionV3", boxes, scores, max_output_size, iou_threshold, score_threshold
    )[0]


NON_MAX_SUPPRESSION_V3 = define(
    name="NonMaxSuppressionV3",
    signature=(
        "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, "
        "score_threshold: T_threshold -> selected_indices: int32"
    ),
    types={"T": _TYPES, "T_threshold": _TYPES},
    infer=_infer,
    kernel=_v3_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _padded(x: Array, most: Array, pad: bool) -> Array:
    return np.pad(x, (0, max(int(most) - len(x), 0))) if pad else x


def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    soft_nms_sigma: TensorLike = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """`non_max_suppression` with scores, which may be reduced instead of dropping boxes.

    Args:
        boxes: [n, 4], float32.
        scores: [n], float32.
        max_output_size: at most how many, an int32 scalar.
        iou_threshold: boxes whose intersection is more than this share of their union overlap.
        score_threshold: boxes of this score or less are left out.
        soft_nms_sigma: if positive, a score falls by exp(-iou² / 2σ) for each better box it
            overlaps.
        name: name of the node while tracing.

    Returns:
        Indices [m], int32, and scores [m].
    """
    indices, found, _ = execute(
        NON_MAX_SUPPRESSION_V5,
        boxes,
        scores,
        max_output_size,
        iou_threshold,
        score_threshold,
        soft_nms_sigma,
        name=name,
    )
    return indices, found


def _v5_kernel(
    boxes: Array,
    scores: Array,
    max_output_size: Array,
    iou_threshold: Array,
    score_threshold: Array,
    soft_nms_sigma: Array,
    *,
    pad_to_max_output_size: bool,
) -> tuple[Array, Array, Array]:
    found, values = selected(
        "NonMaxSuppressionV5",
        boxes,
        scores,
        max_output_size,
        iou_threshold,
        score_threshold,
        float(soft_nms_sigma),
    )
    count = np.array(len(found), np.int32)
    pad = pad_to_max_output_size
    return _padded(found, max_output_size, pad), _padded(values, max_output_size, pad), count


NON_MAX_SUPPRESSION_V5 = define(
    name="NonMaxSuppressionV5",
    signature=(
        "boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T, "
        "soft_nms_sigma: T -> selected_indices: int32, selected_scores: T, valid_outputs: int32"
    ),
    types={"T": _TYPES},
    attrs={"pad_to_max_output_size": attr("bool", default=False)},
    infer=_infer,
    kernel=_v5_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[Tensor, Tensor]:
    """`non_max_suppression`, padded with zeros to `max_output_size`.

    Args:
        boxes: [n, 4], float32.
        scores: [n], float32.
        max_output_size: at most how many, an int32 scalar.
        iou_threshold: boxes whose intersection is more than this share of their union overlap.
        score_threshold: boxes of this score or less are left out.
        pad_to_max_output_size: whether to fill up.
        name: name of the node while tracing.
        sorted_input: a promise that scores fall; the result is the same without it.
        canonicalized_coordinates: a promise that boxes are (y1, x1, y2, x2), likewise.
        tile_size: has no effect, which a warning says.

    Returns:
        Indices [m] and the number of valid ones, both int32.
    """
    del sorted_input, canonicalized_coordinates
    why = "boxes are not worked on in tiles"
    ignored("non_max_suppression_padded", why, 512, tile_size=tile_size)
    found = convert_to_tensor(boxes)
    return execute_all(
        NON_MAX_SUPPRESSION_V4,
        found,
        scores,
        max_output_size,
        convert_to_tensor(iou_threshold, dtype_hint=found.dtype),
        convert_to_tensor(score_threshold, dtype_hint=found.dtype),
        pad_to_max_output_size=bool(pad_to_max_output_size),
        name=name,
    )


def _v4_kernel(
    boxes: Array,
    scores: Array,
    max_output_size: Array,
    iou_threshold: Array,
    score_threshold: Array,
    *,
    pad_to_max_output_size: bool,
) -> tuple[Array, Array]:
    found, _ = selected(
        "NonMaxSuppressionV4", boxes, scores, max_output_size, iou_threshold, score_threshold
    )
    count = np.array(len(found), np.int32)
    return _padded(found, max_output_size, pad_to_max_output_size), count


NON_MAX_SUPPRESSION_V4 = define(
    name="NonMaxSuppressionV4",
    signature=(
        "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, "
        "score_threshold: T_threshold -> selected_indices: int32, valid_outputs: int32"
    ),
    types={"T": _TYPES, "T_threshold": _TYPES},
    attrs={"pad_to_max_output_size": attr("bool", default=False)},
    infer=_infer,
    kernel=_v4_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _v2_kernel(boxes: Array, scores: Array, max_output_size: Array, iou_threshold: Array) -> Array:
    least = np.array(-np.inf, np.float32)
    return selected("NonMaxSuppressionV2", boxes, scores, max_output_size, iou_threshold, least)[0]


NON_MAX_SUPPRESSION_V2 = define(
    name="NonMaxSuppressionV2",
    signature=(
        "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold"
        " -> selected_indices: int32"
    ),
    types={"T": _TYPES, "T_threshold": _TYPES},
    infer=_infer,
    kernel=_v2_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


_BLOCK = 128


def _best(corners: Array, scores: Array, limit: int, threshold: float, floor: float) -> Array:
    """Selected boxes, best first; candidates are compared by blocks."""
    candidates = np.flatnonzero(scores > floor)
    # Ordered by descending score, then by ascending index.
    candidates = candidates[np.argsort(-scores[candidates], kind="stable")]
    kept = candidates[:0]
    for begin in range(0, len(candidates), _BLOCK):
        if len(kept) >= limit:
            break
        block = candidates[begin : begin + _BLOCK]
        for at in range(0, len(kept), _BLOCK):
            clash = _pairs(corners[block], corners[kept[at : at + _BLOCK]]) > threshold
            block = block[~clash.any(axis=1)]
        clash = _pairs(corners[block], corners[block]) > threshold
        alive = np.ones(len(block), bool)
        for i in range(len(block)):
            if alive[i]:
                alive[i + 1 :] &= ~clash[i, i + 1 :]
        kept = np.concatenate([kept, block[alive]])
    return kept[:limit]


def _pairs(boxes: Array, others: Array) -> Array:
    """`_overlaps` of each box with each of the others."""
    low, high = (
        find(boxes[:, None, part], others[None, :, part])
        for find, part in ((np.maximum, slice(0, 2)), (np.minimum, slice(2, 4)))
    )
    sides = np.maximum(high - low, 0)
    shared = sides[..., 0] * sides[..., 1]
    area, areas = (np.prod(x[:, 2:] - x[:, :2], axis=1) for x in (boxes, others))
    usable = (area > 0)[:, None] & (areas > 0)
    union = area[:, None] + areas - shared
    return np.where(usable, shared / np.where(usable, union, 1), 0)


def selected(
    op: str, boxes: Array, scores: Array, most: Array, iou: Array, least: Array, sigma: float = 0.0
) -> tuple[Array, Array]:
    """Indices and scores of the selected boxes, best first."""
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1]:
        raise InvalidArgumentError(
            f"{op}: boxes must have four numbers and scores one per box, got shapes "
            f"{list(boxes.shape)} and {list(scores.shape)}"
        )
    limit, threshold, floor = int(most), float(iou), float(least)
    _check_limits(op, limit, threshold, sigma)
    corners = _corners(boxes.astype(np.float32))
    scale = np.float32(-0.5 / sigma) if sigma else np.float32(0)
    if not sigma:
        kept = _best(corners, scores.astype(np.float32), limit, threshold, floor)
        return kept.astype(np.int32), scores[kept]
    # Ordered by descending score, then by ascending index.
    queue = [(-score, i, 0) for i, score in enumerate(scores.astype(np.float32)) if score > floor]
    heapq.heapify(queue)
    chosen: list[int] = []
    values: list[Any] = []
    while queue and len(chosen) < limit:
        negative, i, seen = heapq.heappop(queue)
        score = -negative
        # Boxes chosen since this one was looked at last.
        overlaps = _overlaps(corners[i], corners[chosen[seen:]]).astype(np.float32)
        if overlaps.size:
            lowered = score * np.prod(np.exp(scale * overlaps * overlaps), dtype=np.float32)
            if lowered != score:
                if lowered > floor:
                    heapq.heappush(queue, (-lowered, i, len(chosen)))
                continue
        chosen.append(i)
        values.append(score)
    return np.array(chosen, np.int32), np.array(values, scores.dtype)
