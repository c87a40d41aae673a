"""Boxes that may hold something: GenerateBoundingBoxProposals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import float32, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute
from pinnace.ops.image.suppression import selected
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["generate_bounding_box_proposals"]

_OP = "GenerateBoundingBoxProposals"
# Boxes grow to at most 1000 / 16 of their anchor's size.
_LARGEST = np.float32(math.log(1000 / 16))


def generate_bounding_box_proposals(
    scores: TensorLike,
    bbox_deltas: TensorLike,
    image_info: TensorLike,
    anchors: TensorLike,
    nms_threshold: TensorLike = 0.7,
    pre_nms_topn: TensorLike = 6000,
    min_size: TensorLike = 16,
    post_nms_topn: int = 300,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The boxes of the highest scores that do not overlap, from changes of anchors.

    TensorFlow computes it on GPUs alone; here it runs as well.

    Args:
        scores: [images, height, width, anchors], float32.
        bbox_deltas: [images, height, width, 4 * anchors], float32: for each anchor dy, dx, dh, dw.
            The centre moves by dy and dx of the anchor's size, which grows by exp(dh), exp(dw).
        image_info: [images, 5], float32: height, width and scale come first.
        anchors: [height, width, 4 * anchors], float32: for each y1, x1, y2, x2.
        nms_threshold: boxes whose intersection is more than this share of their union overlap.
        pre_nms_topn: how many boxes are looked at, those of the highest scores.
        min_size: a box whose shorter side is less, times the picture's scale, is left out.
        post_nms_topn: how many boxes there are in the result.
        name: name of the node while tracing.

    Returns:
        rois: [images, post_nms_topn, 4], y1, x1, y2, x2, best first, zeros after the last;
        roi_probabilities: [images, post_nms_topn], their scores.

    Raises:
        InvalidArgumentError: shapes do not fit, `nms_threshold` is not in [0, 1], or a number of
            boxes is not positive.

    Source:
        TensorFlow op `GenerateBoundingBoxProposals` (image_ops.cc); Ren and others, "Faster R-CNN",
        2015, equation 2.
    """
    return execute(  # type: ignore[no-any-return]
        GENERATE_BOUNDING_BOX_PROPOSALS,
        convert_to_tensor(scores, float32),
        convert_to_tensor(bbox_deltas, float32),
        convert_to_tensor(image_info, float32),
        convert_to_tensor(anchors, float32),
        convert_to_tensor(nms_threshold, float32),
        convert_to_tensor(pre_nms_topn, int32),
        convert_to_tensor(min_size, float32),
        post_nms_topn=post_nms_topn,
        name=name,
    )


def _moved(anchors: Array, deltas: Array) -> Array:
    """[n, 4]: the anchors, moved and grown."""
    size = anchors[:, 2:] - anchors[:, :2]
    centre = anchors[:, :2] + np.float32(0.5) * size + size * deltas[:, :2]
    half = np.float32(0.5) * size * np.exp(np.minimum(deltas[:, 2:], _LARGEST))
    return np.concatenate([centre - half, centre + half], axis=1)


def _of_image(
    scores: Array, deltas: Array, info: Array, anchors: Array, looked: int, least: Array
) -> tuple[Array, Array]:
    """The boxes that are large enough, and their scores, best first."""
    order = np.argsort(-scores, kind="stable")[:looked]
    boxes = _moved(anchors[order], deltas[order])
    boxes = np.maximum(np.minimum(boxes, np.tile(info[:2], 2)), np.float32(0))
    sides = (boxes[:, 2:] - boxes[:, :2]).min(axis=1)
    large = sides >= least * info[2]
    return boxes[large], scores[order][large]


def _kernel(
    scores: Array,
    bbox_deltas: Array,
    image_info: Array,
    anchors: Array,
    nms_threshold: Array,
    pre_nms_topn: Array,
    min_size: Array,
    *,
    post_nms_topn: int,
) -> tuple[Array, Array]:
    if post_nms_topn <= 0:
        raise InvalidArgumentError(f"{_OP}: post_nms_topn must be positive, got {post_nms_topn}")
    if not 0 <= nms_threshold <= 1:
        raise InvalidArgumentError(f"{_OP}: nms_threshold must be in [0, 1], got {nms_threshold}")
    if pre_nms_topn <= 0:
        raise InvalidArgumentError(f"{_OP}: pre_nms_topn must be positive, got {pre_nms_topn}")
    images = len(scores)
    rois = np.zeros((images, post_nms_topn, 4), np.float32)
    chances = np.zeros((images, post_nms_topn), np.float32)
    flat = anchors.reshape(-1, 4)
    for i in range(images):
        boxes, found = _of_image(
            scores[i].reshape(-1),
            bbox_deltas[i].reshape(-1, 4),
            image_info[i],
            flat,
            int(pre_nms_topn),
            min_size,
        )
        kept = selected(
            _OP,
            boxes,
            found,
            np.asarray(post_nms_topn, np.int32),
            nms_threshold,
            np.asarray(-np.inf, np.float32),
        )[0]
        rois[i, : len(kept)], chances[i, : len(kept)] = boxes[kept], found[kept]
    return rois, chances


def _infer(call: InferCall) -> tuple[Shape, Shape]:
    scores, deltas, info, anchors = (call.spec(i).shape for i in range(4))
    for index, name, rank in ((0, "scores", 4), (1, "bbox_deltas", 4), (2, "image_info", 2)):
        if call.spec(index).shape.rank not in {None, rank}:
            call.fail(f"{name} must have {rank} axes, got rank {call.spec(index).shape.rank}")
    images = None if scores.rank is None else scores[0]
    if scores.rank is not None:
        count = scores[3]
        wide = None if count is None else 4 * count
        if not deltas.is_compatible_with([images, scores[1], scores[2], wide]):
            call.fail("bbox_deltas must have the sizes of scores, and four numbers for each")
        if not anchors.is_compatible_with([scores[1], scores[2], wide]):
            call.fail("anchors must be [height, width, 4 * anchors], as scores has them")
    if not info.is_compatible_with([images, 5]):
        call.fail("image_info must hold five numbers for each image")
    for index in (4, 5, 6):
        if call.spec(index).shape.rank not in {None, 0}:
            call.fail(f"{call.op.inputs[index].name} must be a scalar")
    most = call.attrs["post_nms_topn"]
    return Shape([images, most, 4]), Shape([images, most])


GENERATE_BOUNDING_BOX_PROPOSALS = define(
    name=_OP,
    signature=(
        "scores: float32, bbox_deltas: float32, image_info: float32, anchors: float32, "
        "nms_threshold: float32, pre_nms_topn: int32, min_size: float32 -> "
        "rois: float32, roi_probabilities: float32"
    ),
    attrs={"post_nms_topn": attr("int", default=300)},
    infer=_infer,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
