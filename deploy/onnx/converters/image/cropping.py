"""Crops of images."""

from typing import NamedTuple

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


class _Lines(NamedTuple):
    """The coordinates of each crop's lines in the image, along one axis, [boxes, count]."""

    inside: Value
    low: Value
    high: Value
    share: Value
    near: Value


@converts("CropAndResize")
def crop_and_resize(
    g: GraphBuilder, call: NodeView, image: Value, boxes: Value, places: Value, size: Value
) -> Value:
    """Bilinear interpolation of four gathered neighbours."""
    known = call.constant(3)
    new = g.as_int64(size) if known is None else g.ints(*known.tolist())
    y = _lines(g, image, boxes, 0, g.slice(new, 0, 0, 1))
    x = _lines(g, image, boxes, 1, g.slice(new, 0, 1, 2))
    picture = g.cast(image, dtypes.float32)
    owner = g.unsqueeze(g.as_int64(places), 1, 2, 3)
    full = g.joined(g.size_of(boxes, 0), new, g.ints(1))

    def points(rows: Value, columns: Value) -> Value:
        parts = (owner, g.unsqueeze(rows, 2, 3), g.unsqueeze(columns, 1, 3))
        return g.op(
            "GatherND", picture, g.concat([g.op("Expand", part, full) for part in parts], 3)
        )

    if call.attr("method") == "nearest":
        found = points(y.near, x.near)
    else:
        across, down = g.unsqueeze(x.share, 1, 3), g.unsqueeze(y.share, 2, 3)
        upper = _mixed(g, points(y.low, x.low), points(y.low, x.high), across)
        lower = _mixed(g, points(y.high, x.low), points(y.high, x.high), across)
        found = _mixed(g, upper, lower, down)
    inside = g.op("And", g.unsqueeze(y.inside, 2, 3), g.unsqueeze(x.inside, 1, 3))
    return g.where(inside, found, g.like(found, call.attr("extrapolation_value")))


def _mixed(g: GraphBuilder, a: Value, b: Value, share: Value) -> Value:
    return g.op("Add", a, g.op("Mul", g.op("Sub", b, a), share))


def _lines(g: GraphBuilder, image: Value, boxes: Value, axis: int, count: Value) -> _Lines:
    size = g.cast(g.scalar(g.size_of(image, axis + 1)), dtypes.float32)
    last = g.binary("Sub", size, 1)
    start = g.op("Gather", boxes, g.ints(axis), axis=1)
    end = g.op("Gather", boxes, g.ints(axis + 2), axis=1)
    middle = g.op("Mul", g.binary("Mul", g.op("Add", start, end), 0.5), last)
    gaps = g.cast(g.op("Max", g.op("Sub", count, g.ints(1)), g.ints(1)), dtypes.float32)
    step = g.op("Div", g.op("Mul", g.op("Sub", end, start), last), gaps)
    numbers = g.cast(g.iota(g.scalar(count)), dtypes.float32)
    spread = g.op("Add", g.op("Mul", start, last), g.op("Mul", numbers, step))
    if count.array is not None:
        where = spread if count.array[0] > 1 else middle
    else:
        where = g.where(g.binary("Greater", count, 1), spread, middle)
    inside = g.op("And", g.binary("GreaterOrEqual", where, 0), g.op("LessOrEqual", where, last))
    safe = g.where(inside, where, g.like(where, 0))
    low = g.op("Floor", safe)
    near = g.op("Floor", g.binary("Add", safe, 0.5))
    return _Lines(
        inside,
        g.as_int64(low),
        g.as_int64(g.op("Ceil", safe)),
        g.op("Sub", safe, low),
        g.as_int64(near),
    )
