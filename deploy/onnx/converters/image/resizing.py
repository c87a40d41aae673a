"""Image resizing."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pinnace.deploy.onnx.converters.image import weights
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.framework.tensor import Array
from pinnace.ops.image import interpolation


def _centres(call: NodeView) -> tuple[bool, bool]:
    return bool(call.attr("align_corners")), bool(call.attr("half_pixel_centers"))


def _resized(g: GraphBuilder, call: NodeView, x: Value, size: Value, **attrs: Any) -> Value:
    """Resize of height and width."""
    align, half = _centres(call)
    where = "align_corners" if align else "half_pixel" if half else "asymmetric"
    attrs["coordinate_transformation_mode"] = where
    scales = _exact_scales(call, x)
    if scales is not None:
        # The batch size need not be computed.
        return g.moved("Resize", x, None, g.constant(scales), None, **attrs)
    # All four sizes are given instead of height and width with `axes`: when ONNX Runtime moves a
    # Transpose across the operator, it takes `sizes` for all four axes.
    new = g.reshape(g.as_int64(size), [2])
    sizes = g.joined(g.size_of(x, 0), g.size_of(x, 3), new)
    return g.moved("Resize", x, None, None, sizes, **attrs)


def _exact_scales(call: NodeView, x: Value) -> Array | None:
    """The scale of each axis (batch, channels, height, width), if float32 represents it exactly."""
    factors = [np.float32(1), np.float32(1)]
    for axis in (1, 2):
        old, new = _sizes(call, x, axis)
        if not old or not new:
            return None
        factor = np.float32(new / old)
        if float(factor) * old != new:
            return None
        factors.append(factor)
    return np.array(factors, np.float32)


@converts("ResizeBilinear")
def bilinear(g: GraphBuilder, call: NodeView, x: Value, size: Value) -> Value:
    """Resize in the mode `linear`; the result is float32 for any input type.

    A matrix per axis unless scales are integers: ONNX Runtime rounds coordinates otherwise.
    """
    if _multiplies(call, x):
        return _resized(g, call, g.cast(x, dtypes.float32), size, mode="linear")
    centres = _centres(call)
    return _by_matrices(
        g, call, x, size, interpolation.linear_weights, weights.linear, [centres, centres]
    )


@converts("ResizeNearestNeighbor")
def nearest(g: GraphBuilder, call: NodeView, x: Value, size: Value) -> Value:
    """Resize for integer scales; else Gather, as rounding decides which pixel is nearest."""
    align, half = _centres(call)
    if _multiplies(call, x) and not align and x.dtype.is_floating:
        rounding = "round_prefer_ceil" if half else "floor"
        return _resized(g, call, x, size, mode="nearest", nearest_mode=rounding)
    for axis in (1, 2):
        old, new = _sizes(call, x, axis)
        if old is None or new is None:
            places = weights.nearest_places(g, *_measured(g, call, x, size, axis), align, half)
        else:
            known = interpolation.nearest_places(old, new, align, half)
            places = g.ints(*[int(place) for place in known])
        x = g.op("Gather", x, places, axis=axis)
    return x


def _multiplies(call: NodeView, x: Value) -> bool:
    """Whether every pixel is repeated the same integer number of times."""
    pairs = [_sizes(call, x, axis) for axis in (1, 2)]
    if all(old is not None and new is not None for old, new in pairs):
        return all(old and new and new % old == 0 for old, new in pairs)
    return call.is_multiple_of_size(1, 0)


@converts("ResizeBicubic")
def bicubic(g: GraphBuilder, call: NodeView, x: Value, size: Value) -> Value:
    """A matrix per axis: TensorFlow takes cubic weights from a table, Resize computes them."""
    centres = _centres(call)
    return _by_matrices(
        g, call, x, size, interpolation.cubic_weights, weights.cubic, [centres, centres]
    )


@converts("ResizeArea")
def area(g: GraphBuilder, call: NodeView, x: Value, size: Value) -> Value:
    """A matrix per axis; ONNX has no such mode."""
    align = (bool(call.attr("align_corners")),)
    return _by_matrices(g, call, x, size, interpolation.area_weights, weights.area, [align, align])


@converts("ScaleAndTranslate")
def scale_and_translate(
    g: GraphBuilder, call: NodeView, x: Value, size: Value, scale: Value, translation: Value
) -> Value:
    """A matrix per axis, for any kernel."""
    options = (call.attr("kernel_type"), bool(call.attr("antialias")))
    scales, shifts = call.constant(2), call.constant(3)
    told: list[tuple[Any, ...]] = []
    for axis in (0, 1):
        if scales is not None and shifts is not None:
            told.append((scales[axis], shifts[axis], *options))
        else:
            both = (g.op("Gather", v, g.index(axis), axis=0) for v in (scale, translation))
            told.append((*both, *options))
    return _by_matrices(g, call, x, size, interpolation.kernel_weights, weights.kernel, told)


def _sizes(call: NodeView, x: Value, axis: int) -> tuple[int | None, int | None]:
    """The old and the new size of an axis, None if unknown."""
    new = call.sizes(1)
    return x.size(axis), None if new is None or new.rank is None else new[axis - 1]


def _measured(
    g: GraphBuilder, call: NodeView, x: Value, size: Value, axis: int
) -> tuple[Value, Value]:
    """The old and the new size of an axis, int64 scalars."""
    _, new = _sizes(call, x, axis)
    told = g.op("Gather", g.as_int64(size), g.index(axis - 1), axis=0)
    return g.scalar(g.size_of(x, axis)), told if new is None else g.index(new)


def _by_matrices(
    g: GraphBuilder,
    call: NodeView,
    x: Value,
    size: Value,
    known: Callable[..., Array],
    computed: Callable[..., Value],
    options: Sequence[tuple[Any, ...]],
) -> Value:
    """Rows of an image times a matrix, then its columns; with channels first both are last axes.

    Args:
        g: the graph.
        call: the op.
        x: the image.
        size: the new height and width.
        known: returns the matrix for known sizes and the options.
        computed: adds operators that compute the matrix.
        options: for height and for width.
    """
    matrices = []
    for axis, told in zip((1, 2), options, strict=True):
        old, new = _sizes(call, x, axis)
        fed = any(isinstance(option, Value) for option in told)
        if old is None or new is None or fed:
            given = [g.constant(o) if isinstance(o, np.floating) else o for o in told]
            matrices.append(computed(g, *_measured(g, call, x, size, axis), *given))
        else:
            matrices.append(g.constant(known(old, new, *told)))
    rows, columns = matrices
    wide = g.cast(x, dtypes.float32)
    tall = g.moved("MatMul", rows, wide)
    if columns.array is not None:
        return g.moved("MatMul", tall, g.constant(np.ascontiguousarray(columns.array.T)))
    return g.moved("MatMul", tall, g.transpose(columns, [1, 0]))
