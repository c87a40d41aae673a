"""Projective transformations of images."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pinnace.deploy.onnx.converters.registry import converts
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.deploy.onnx.converters.node_view import NodeView
    from pinnace.deploy.onnx.ir.builder import GraphBuilder
    from pinnace.deploy.onnx.ir.graph import Value


class _Line(NamedTuple):
    """Coordinates along an axis, and the axis size (float32, and int64)."""

    place: Value
    size: Value
    room: Value


def _truncated(g: GraphBuilder, x: Value) -> Value:
    """x without its fraction."""
    return g.op("Mul", g.op("Sign", x), g.op("Floor", g.op("Abs", x)))


def _clipped(g: GraphBuilder, x: Value, size: Value) -> Value:
    return g.op("Min", g.op("Max", x, g.like(x, 0)), g.op("Sub", size, g.like(size, 1)))


def _reflected(g: GraphBuilder, x: Value, size: Value) -> Value:
    period = g.binary("Mul", size, 2)
    turns = g.op("Mul", period, _truncated(g, g.op("Div", g.op("Neg", x), period)))
    below = g.op("Add", turns, x)
    early = g.op("Less", below, g.op("Neg", size))
    mirrored = g.binary("Sub", g.op("Neg", below), 1)
    below = g.where(early, g.op("Add", below, period), mirrored)
    above = g.op("Sub", x, g.op("Mul", period, _truncated(g, g.op("Div", x, period))))
    late = g.op("GreaterOrEqual", above, size)
    above = g.where(late, g.binary("Sub", g.op("Sub", period, above), 1), above)
    return _chosen(g, x, size, below, above)


def _wrapped(g: GraphBuilder, x: Value, size: Value) -> Value:
    gaps = g.binary("Sub", size, 1)
    # With a single pixel the result is clipped to it, so any divisor above 0 will do.
    gaps = g.op("Max", gaps, g.like(gaps, 1))
    turns = g.binary("Add", _truncated(g, g.op("Div", g.op("Neg", x), gaps)), 1)
    below = g.op("Add", x, g.op("Mul", size, turns))
    above = g.op("Sub", x, g.op("Mul", size, _truncated(g, g.op("Div", x, gaps))))
    return _chosen(g, x, size, below, above)


def _chosen(g: GraphBuilder, x: Value, size: Value, below: Value, above: Value) -> Value:
    past = g.op("Greater", x, g.binary("Sub", size, 1))
    found = g.where(g.binary("Less", x, 0), below, g.where(past, above, x))
    return _clipped(g, found, size)


_MAPPED = {"REFLECT": _reflected, "WRAP": _wrapped, "NEAREST": _clipped}


def _read(
    g: GraphBuilder, images: Value, row: _Line, column: _Line, there: Value, fill: Value
) -> Value:
    """The pixels at integer coordinates [batch, h, w]; `fill` outside the image."""
    inside = there
    for line in (row, column):
        low = g.binary("GreaterOrEqual", line.place, 0)
        inside = g.op("And", inside, g.op("And", low, g.op("Less", line.place, line.size)))
    y, x = (
        g.cast(g.where(inside, line.place, g.like(line.place, 0)), dtypes.int64)
        for line in (row, column)
    )
    starts = g.op("Mul", g.iota(g.scalar(g.size_of(images, 0))), g.scalar(row.room))
    lines = g.op("Add", y, g.unsqueeze(starts, 1, 2))
    flat = g.op("Add", g.op("Mul", lines, g.scalar(column.room)), x)
    pixels = g.reshape(images, g.joined(g.ints(-1), g.size_of(images, 3)))
    return g.where(g.unsqueeze(inside, 3), g.op("Gather", pixels, flat, axis=0), fill)


def _part(g: GraphBuilder, transforms: Value, index: int) -> Value:
    return g.unsqueeze(g.op("Gather", transforms, g.ints(index), axis=1), 2)


@converts("ImageProjectiveTransformV2")
def without_fill(
    g: GraphBuilder, call: NodeView, images: Value, transforms: Value, sizes: Value
) -> Value:
    """ImageProjectiveTransformV3 with fill value 0."""
    return projected(g, call, images, transforms, sizes, g.cast(g.index(0), dtypes.float32))


@converts("ImageProjectiveTransformV3")
def projected(
    g: GraphBuilder,
    call: NodeView,
    images: Value,
    transforms: Value,
    sizes: Value,
    fill_value: Value,
) -> Value:
    """The transformed coordinates, then Gather of the pixels."""
    fill = g.cast(fill_value, images.dtype)
    counts = g.as_int64(sizes)
    height, width = (g.scalar(g.slice(counts, 0, i, i + 1)) for i in (0, 1))
    y = g.unsqueeze(g.cast(g.iota(height), dtypes.float32), 0, 2)
    x = g.unsqueeze(g.cast(g.iota(width), dtypes.float32), 0, 1)
    a = [_part(g, transforms, index) for index in range(8)]
    depth = g.binary("Add", g.op("Add", g.op("Mul", a[6], x), g.op("Mul", a[7], y)), 1)
    there = g.op("Not", g.binary("Equal", depth, 0))
    mode = str(call.attr("fill_mode"))
    lines = []
    for axis, start in ((1, 3), (2, 0)):
        moved = g.op("Add", g.op("Mul", a[start], x), g.op("Mul", a[start + 1], y))
        place = g.op("Div", g.op("Add", moved, a[start + 2]), depth)
        place = g.where(there, place, g.like(place, 0))
        count = g.size_of(images, axis)
        size = g.scalar(g.cast(count, dtypes.float32))
        if mode in _MAPPED:
            place = _MAPPED[mode](g, place, size)
        # One transform may apply to all images.
        shape = g.joined(g.size_of(images, 0), counts)
        lines.append(_Line(g.expand(place, shape), size, count))
    row, column = lines
    if call.attr("interpolation") == "NEAREST":
        row, column = (line._replace(place=_rounded(g, line.place)) for line in lines)
        return _read(g, images, row, column, there, fill)
    return _blended(g, images, row, column, there, fill)


def _rounded(g: GraphBuilder, x: Value) -> Value:
    """x rounded, halves away from 0; ONNX rounds them to even."""
    return g.op("Mul", g.op("Sign", x), g.op("Floor", g.binary("Add", g.op("Abs", x), 0.5)))


def _blended(
    g: GraphBuilder, images: Value, row: _Line, column: _Line, there: Value, fill: Value
) -> Value:
    top, left = g.op("Floor", row.place), g.op("Floor", column.place)
    bottom, right = g.binary("Add", top, 1), g.binary("Add", left, 1)

    def weighted(near: Value, place: Value, far: Value, first: Value, second: Value) -> Value:
        to_far = g.unsqueeze(g.op("Sub", far, place), 3)
        to_near = g.unsqueeze(g.op("Sub", place, near), 3)
        return g.op("Add", g.op("Mul", to_far, first), g.op("Mul", to_near, second))

    def along(y: Value) -> Value:
        line = row._replace(place=y)
        first, second = (
            g.cast(_read(g, images, line, column._replace(place=x), there, fill), dtypes.float32)
            for x in (left, right)
        )
        return weighted(left, column.place, right, first, second)

    blended = g.cast(weighted(top, row.place, bottom, along(top), along(bottom)), images.dtype)
    return g.where(g.unsqueeze(there, 3), blended, fill)
