"""Pictures of other sizes."""

from typing import Any

import numpy as np

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts, refuses
from pinnace.framework import dtypes
from pinnace.framework.tensor import Array
from pinnace.ops.image import interpolation


def _known_sizes(call: NodeView, x: Value) -> tuple[int, int, int, int] | None:
    """Old height and width, new height and width, if the graph tells them."""
    new = call.constant(1)
    height, width = x.size(1), x.size(2)
    if new is None or height is None or width is None:
        return None
    return height, width, int(new[0]), int(new[1])


def _centres(call: NodeView) -> tuple[bool, bool]:
    return bool(call.attr("align_corners")), bool(call.attr("half_pixel_centers"))


def _resized(g: GraphBuilder, call: NodeView, x: Value, size: Value, **attrs: Any) -> Value:
    """Resize of height and width."""
    align, half = _centres(call)
    where = "align_corners" if align else "half_pixel" if half else "asymmetric"
    new = g.reshape(g.as_int64(size), [2])
    channels = g.size_of(x, 3)
    sizes = g.joined(g.size_of(x, 0), channels, new)
    known = call.constant(1)
    if known is not None and channels.array is not None and x.size(0) is None:
        # Only height and width, so that the batch needs not be asked for.
        return g.moved(
            "Resize", x, None, None, new, axes=[2, 3], coordinate_transformation_mode=where, **attrs
        )
    return g.moved("Resize", x, None, None, sizes, coordinate_transformation_mode=where, **attrs)


@converts("ResizeBilinear")
def bilinear(g: GraphBuilder, call: NodeView, x: Value, size: Value) -> Value:
    """Resize in the mode `linear`; the result is float32 whatever the picture is."""
    return _resized(g, call, g.cast(x, dtypes.float32), size, mode="linear")


@converts("ResizeNearestNeighbor")
def nearest(g: GraphBuilder, call: NodeView, x: Value, size: Value) -> Value:
    """Resize where it multiplies; else Gather, since rounding decides which point is nearest."""
    align, half = _centres(call)
    sizes = _known_sizes(call, x)
    if sizes is not None and (
        align or sizes[2] % sizes[0] or sizes[3] % sizes[1] or not x.dtype.is_floating
    ):
        rows = interpolation.nearest_places(sizes[0], sizes[2], align, half)
        columns = interpolation.nearest_places(sizes[1], sizes[3], align, half)
        tall = g.op("Gather", x, g.ints(*[int(n) for n in rows]), axis=1)
        return g.op("Gather", tall, g.ints(*[int(n) for n in columns]), axis=2)
    rounding = "round_prefer_ceil" if align else "floor"
    if half and not align:
        rounding = "round_prefer_ceil"
    return _resized(g, call, x, size, mode="nearest", nearest_mode=rounding)


@converts("ResizeBicubic")
def bicubic(g: GraphBuilder, call: NodeView, x: Value, size: Value) -> Value:
    """A matrix per axis: TensorFlow reads the cubic from a table, Resize computes it."""
    del size
    align, half = _centres(call)
    height, width, new_height, new_width = _needed_sizes(call, x)
    rows = interpolation.cubic_weights(height, new_height, align, half)
    columns = interpolation.cubic_weights(width, new_width, align, half)
    return _by_matrices(g, x, rows, columns)


@converts("ResizeArea")
def area(g: GraphBuilder, call: NodeView, x: Value, size: Value) -> Value:
    """A product with a matrix per axis; ONNX has no such mode."""
    del size
    align = bool(call.attr("align_corners"))
    height, width, new_height, new_width = _needed_sizes(call, x)
    rows = interpolation.area_weights(height, new_height, align)
    columns = interpolation.area_weights(width, new_width, align)
    return _by_matrices(g, x, rows, columns)


@converts("ScaleAndTranslate", constants=("scale", "translation"))
def scale_and_translate(
    g: GraphBuilder, call: NodeView, x: Value, size: Value, scale: Value, translation: Value
) -> Value:
    """A product with a matrix per axis, of whatever kernel."""
    del size, scale, translation
    height, width, new_height, new_width = _needed_sizes(call, x)
    scales, shifts = call.needed(2, "scale"), call.needed(3, "translation")
    options = (call.attr("kernel_type"), bool(call.attr("antialias")))
    rows = interpolation.kernel_weights(height, new_height, scales[0], shifts[0], *options)
    columns = interpolation.kernel_weights(width, new_width, scales[1], shifts[1], *options)
    return _by_matrices(g, x, rows, columns)


def _needed_sizes(call: NodeView, x: Value) -> tuple[int, int, int, int]:
    found = _known_sizes(call, x)
    if found is None:
        call.fail(
            "the old and new height and width must be known: the weights are written into the file"
        )
    return found


def _by_matrices(g: GraphBuilder, x: Value, rows: Array, columns: Array) -> Value:
    """Rows of a picture times a matrix, then its columns: with channels first both lie last."""
    wide = g.cast(x, dtypes.float32)
    tall = g.moved("MatMul", g.constant(rows), wide)
    return g.moved("MatMul", tall, g.constant(np.ascontiguousarray(columns.T)))


refuses(
    "is a step of training: the gradient of a resizing",
    "ResizeBicubicGrad",
    "ResizeBilinearGrad",
    "ResizeNearestNeighborGrad",
    "ScaleAndTranslateGrad",
)
