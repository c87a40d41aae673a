"""Image resizing and non-maximum suppression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.lite.converters.registry import converts
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from pinnace.deploy.lite.converters.node_view import NodeView
    from pinnace.deploy.lite.ir.builder import GraphBuilder
    from pinnace.deploy.lite.ir.model import Tensor


@converts("ResizeBilinear", to="RESIZE_BILINEAR")
def resize_bilinear(g: GraphBuilder, call: NodeView, x: Tensor, sizes: Tensor) -> Tensor:
    """RESIZE_BILINEAR in float32, the type of TensorFlow's result."""
    return _resized(g, call, "RESIZE_BILINEAR", g.cast(x, dtypes.float32), sizes)


@converts("ResizeNearestNeighbor", to="RESIZE_NEAREST_NEIGHBOR")
def resize_nearest(g: GraphBuilder, call: NodeView, x: Tensor, sizes: Tensor) -> Tensor:
    """RESIZE_NEAREST_NEIGHBOR; types that the kernel does not take are cast to float32 and back."""
    kind = x.dtype if x.dtype in {dtypes.float32, dtypes.uint8, dtypes.int8} else dtypes.float32
    if x.dtype.is_integer and x.dtype.size > 2:
        call.fail("LiteRT's kernel of RESIZE_NEAREST_NEIGHBOR takes no integers of 32 bits")
    made = _resized(g, call, "RESIZE_NEAREST_NEIGHBOR", g.cast(x, kind), sizes)
    return g.cast(made, x.dtype)


def _resized(g: GraphBuilder, call: NodeView, kind: str, x: Tensor, sizes: Tensor) -> Tensor:
    names = ("align_corners", "half_pixel_centers")
    options: dict[str, Any] = {name: bool(call.attr(name)) for name in names}
    return g.op(kind, x, g.cast(sizes, dtypes.int32), shape=call.shape(), **options)


@converts("NonMaxSuppressionV4", to="NON_MAX_SUPPRESSION_V4")
def suppression_v4(
    g: GraphBuilder,
    call: NodeView,
    boxes: Tensor,
    scores: Tensor,
    most: Tensor,
    overlap: Tensor,
    least: Tensor,
) -> tuple[Tensor, Tensor]:
    """Indices, padded to the largest number of boxes if asked for, and the number of valid ones."""
    places, count = _suppressed(g, boxes, scores, most, overlap, least)
    if not call.attr("pad_to_max_output_size"):
        places = _first(g, places, count, call.shape(0))
    return places, count


@converts("NonMaxSuppressionV3", to="NON_MAX_SUPPRESSION_V4 SLICE")
def suppression_v3(
    g: GraphBuilder,
    call: NodeView,
    boxes: Tensor,
    scores: Tensor,
    most: Tensor,
    overlap: Tensor,
    least: Tensor,
) -> Tensor:
    """The valid indices only."""
    places, count = _suppressed(g, boxes, scores, most, overlap, least)
    return _first(g, places, count, call.shape(0))


@converts("NonMaxSuppression", "NonMaxSuppressionV2", to="NON_MAX_SUPPRESSION_V4 SLICE")
def suppression(
    g: GraphBuilder,
    call: NodeView,
    boxes: Tensor,
    scores: Tensor,
    most: Tensor,
    overlap: Tensor | None = None,
) -> Tensor:
    """Suppression without a score threshold."""
    if overlap is None:
        overlap = g.constant(float(call.attr("iou_threshold")), dtypes.float32)
    least = g.constant(-np.inf, dtypes.float32)
    places, count = _suppressed(g, boxes, scores, most, overlap, least)
    return _first(g, places, count, call.shape(0))


@converts("NonMaxSuppressionV5", to="NON_MAX_SUPPRESSION_V5")
def suppression_v5(
    g: GraphBuilder,
    call: NodeView,
    boxes: Tensor,
    scores: Tensor,
    most: Tensor,
    overlap: Tensor,
    least: Tensor,
    sigma: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Soft suppression: overlapping boxes have their scores lowered."""
    size = _size_of(most)
    outputs = [
        (dtypes.int32, Shape([size])),
        (dtypes.float32, Shape([size])),
        (dtypes.int32, Shape([])),
    ]
    given = [boxes, scores, g.reshape(most, []), overlap, least, sigma]
    places, found, count = g.ops("NON_MAX_SUPPRESSION_V5", given, outputs)
    if not call.attr("pad_to_max_output_size"):
        places = _first(g, places, count, call.shape(0))
        found = _first(g, found, count, call.shape(1))
    return places, found, count


def _suppressed(
    g: GraphBuilder, boxes: Tensor, scores: Tensor, most: Tensor, overlap: Tensor, least: Tensor
) -> tuple[Tensor, Tensor]:
    outputs = [(dtypes.int32, Shape([_size_of(most)])), (dtypes.int32, Shape([]))]
    given = [boxes, scores, g.reshape(most, []), overlap, least]
    places, count = g.ops("NON_MAX_SUPPRESSION_V4", given, outputs)
    return places, count


def _size_of(most: Tensor) -> int | None:
    return None if most.data is None else int(most.data.reshape(-1)[0])


def _first(g: GraphBuilder, x: Tensor, count: Tensor, shape: Shape) -> Tensor:
    """The first `count` elements of a vector."""
    return g.op("SLICE", x, g.ints([0]), g.reshape(count, [1]), shape=shape)
