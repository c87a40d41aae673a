"""The matrices of `core/ops/image/interpolation.py`, computed by the model from sizes.

Each is [new size, old size], float32; sizes are int64 scalars. Every formula rounds where the
kernel does, since a position that crosses a pixel boundary selects another pixel.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pinnace.framework import dtypes
from pinnace.ops.image import interpolation

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.deploy.onnx.ir.builder import GraphBuilder
    from pinnace.deploy.onnx.ir.graph import Value

    Weight: TypeAlias = Callable[[GraphBuilder, Value], Value]


def _float(g: GraphBuilder, x: Value) -> Value:
    return g.cast(x, dtypes.float32)


def _steps(g: GraphBuilder, count: Value) -> Value:
    """0, 1, ... as float32."""
    return _float(g, g.iota(count))


def _scale(g: GraphBuilder, size: Value, new_size: Value, align: bool) -> Value:
    """The distance of new pixels in old ones."""
    scale = g.op("Div", _float(g, size), _float(g, new_size))
    if not align:
        return scale
    several = g.binary("Greater", new_size, 1)
    gaps = g.binary("Max", g.binary("Sub", new_size, 1), 1)
    between = g.op("Div", _float(g, g.binary("Sub", size, 1)), _float(g, gaps))
    return g.where(several, between, scale)


def _rows(g: GraphBuilder, x: Value) -> Value:
    return g.unsqueeze(x, 1)


def nearest_places(g: GraphBuilder, size: Value, new_size: Value, align: bool, half: bool) -> Value:
    """[new size], int64: the old pixel that each new one copies."""
    steps = _steps(g, new_size)
    if half:
        steps = g.binary("Add", steps, 0.5)
    where = g.op("Mul", steps, _scale(g, size, new_size, align))
    whole = g.op("Floor", g.binary("Add", where, 0.5) if align else where)
    last = g.binary("Max", g.binary("Sub", size, 1), 0)
    return g.op("Min", g.as_int64(whole), last)


def linear(g: GraphBuilder, size: Value, new_size: Value, align: bool, half: bool) -> Value:
    """Bilinear interpolation: two weights per new pixel."""
    steps = _steps(g, new_size)
    scale = _scale(g, size, new_size, align)
    where = g.op("Mul", g.binary("Add", steps, 0.5) if half else steps, scale)
    if half:
        where = g.binary("Sub", where, 0.5)
    last = g.binary("Sub", size, 1)
    below = g.op("Floor", where)
    low = g.op("Max", g.as_int64(below), g.index(0))
    high = g.op("Min", g.as_int64(g.op("Ceil", where)), last)
    part = _rows(g, g.op("Sub", where, below))
    points = g.unsqueeze(g.iota(size), 0)
    none = g.like(part, 0)
    first = g.where(g.op("Equal", _rows(g, low), points), g.op("Sub", g.like(part, 1), part), none)
    return g.op("Add", first, g.where(g.op("Equal", _rows(g, high), points), part, none))


def cubic(g: GraphBuilder, size: Value, new_size: Value, align: bool, half: bool) -> Value:
    """Bicubic interpolation: four weights per new pixel."""
    scale = _scale(g, size, new_size, align)
    steps = _steps(g, new_size)
    where = g.op("Mul", g.binary("Add", steps, 0.5) if half else steps, scale)
    if half:
        where = g.binary("Sub", where, 0.5)
    below = g.op("Floor", where)
    tables = interpolation.cubic_tables(half)
    count = len(tables[0]) - 1
    part = g.binary("Mul", g.op("Sub", where, below), count)
    place = g.as_int64(g.op("Round", part))
    other = g.op("Sub", g.index(count), place)
    inside, outside = (g.constant(table) for table in tables)
    lowest, last = g.as_int64(below), g.binary("Sub", size, 1)
    points = g.unsqueeze(g.iota(size), 0)
    shares = []
    for shift, (table, at) in enumerate(
        ((outside, place), (inside, place), (inside, other), (outside, other)), -1
    ):
        point = g.binary("Add", lowest, shift)
        if not half:
            point = g.op("Max", g.op("Min", point, last), g.index(0))
        share = _rows(g, g.op("Gather", table, at, axis=0))
        hit = g.op("Equal", _rows(g, point), points)
        shares.append(g.where(hit, share, g.like(share, 0)))
    whole = functools.reduce(lambda one, other: g.op("Add", one, other), shares)
    return _normalised(g, whole) if half else whole


def area(g: GraphBuilder, size: Value, new_size: Value, align: bool) -> Value:
    """The share of each old pixel in the interval that a new one covers."""
    scale = _scale(g, size, new_size, align)
    start = g.op("Mul", _steps(g, new_size), scale)
    end = _rows(g, g.op("Add", start, scale))
    points = g.iota(size)
    # Output pixels beyond the last input pixel are taken from it.
    is_last = g.op("Equal", points, g.binary("Sub", size, 1))
    behind = _float(g, g.binary("Add", points, 1))
    behind = g.where(is_last, g.like(behind, np.inf), behind)
    first = g.op("Max", _rows(g, start), g.unsqueeze(_float(g, points), 0))
    covered = g.op("Sub", g.op("Min", g.unsqueeze(behind, 0), end), first)
    return g.op("Div", g.binary("Max", covered, 0), scale)


def kernel(
    g: GraphBuilder,
    size: Value,
    new_size: Value,
    scale: Value,
    translation: Value,
    kind: str,
    antialias: bool,
) -> Value:
    """A kernel centred on each new pixel, widened if `antialias`; the last two are float32."""
    radius, weight = _KERNELS[kind]
    inverse = g.op("Div", g.like(scale, 1), scale)
    centres = g.op("Mul", g.binary("Add", _steps(g, new_size), 0.5), inverse)
    centres = _rows(g, g.op("Sub", centres, g.op("Mul", inverse, translation)))
    points = g.unsqueeze(g.binary("Add", _steps(g, size), 0.5), 0)
    away = g.op("Abs", g.op("Sub", points, centres))
    if antialias:
        away = g.op("Div", away, g.binary("Max", inverse, 1))
    inside = g.op(
        "And", g.binary("GreaterOrEqual", centres, 0), g.op("LessOrEqual", centres, _float(g, size))
    )
    taken = g.op("And", g.binary("LessOrEqual", away, radius), inside)
    return _normalised(g, g.where(taken, weight(g, away), g.like(away, 0)))


def _normalised(g: GraphBuilder, weights: Value) -> Value:
    total = g.op("ReduceSum", weights, g.ints(1), keepdims=1)
    least = 1000 * float(np.finfo(np.float32).tiny)
    usable = g.binary("GreaterOrEqual", g.op("Abs", total), least)
    return g.op("Div", weights, g.where(usable, total, g.like(total, 1)))


# Kernels: the weight as a function of the distance from the centre.


def _lanczos(radius: int) -> tuple[float, Weight]:
    def weight(g: GraphBuilder, x: Value) -> Value:
        one = g.like(x, 1)
        close = g.binary("LessOrEqual", x, 1e-3)
        small = g.where(close, one, x)
        turn = g.binary("Mul", small, math.pi)
        bell = g.binary("Mul", g.op("Sin", turn), radius)
        bell = g.op("Mul", bell, g.op("Sin", g.binary("Div", turn, radius)))
        square = g.op("Mul", g.binary("Mul", small, math.pi * math.pi), small)
        return g.where(close, one, g.op("Div", bell, square))

    return float(radius), weight


def _gaussian(g: GraphBuilder, x: Value) -> Value:
    bell = g.op("Exp", g.binary("Div", g.op("Mul", g.op("Neg", x), x), 2 * 0.5 * 0.5))
    return g.where(g.binary("GreaterOrEqual", x, 1.5), g.like(x, 0), bell)


def _box(g: GraphBuilder, x: Value) -> Value:
    edge = g.where(g.binary("Equal", x, 0.5), g.like(x, 0.5), g.like(x, 0))
    return g.where(g.binary("Less", x, 0.5), g.like(x, 1), edge)


def _triangle(g: GraphBuilder, x: Value) -> Value:
    return g.binary("Max", g.op("Sub", g.like(x, 1), x), 0)


def _polynomial(*terms: float) -> Weight:
    """A polynomial, the highest power first."""

    def value(g: GraphBuilder, x: Value) -> Value:
        found = g.like(x, terms[0])
        for term in terms[1:]:
            found = g.op("Mul", found, x)
            found = g.binary("Add", found, term) if term else found
        return found

    return value


def _two_pieces(near: Weight, far: Weight) -> Weight:
    """Piecewise: one formula up to 1, another up to 2."""

    def weight(g: GraphBuilder, x: Value) -> Value:
        outer = g.where(g.binary("GreaterOrEqual", x, 2), g.like(x, 0), far(g, x))
        return g.where(g.binary("GreaterOrEqual", x, 1), outer, near(g, x))

    return weight


_KERNELS: dict[str, tuple[float, Weight]] = {
    "lanczos1": _lanczos(1),
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
    "gaussian": (1.5, _gaussian),
    "box": (1.0, _box),
    "triangle": (1.0, _triangle),
    "keyscubic": (2.0, _two_pieces(_polynomial(1.5, -2.5, 0, 1), _polynomial(-0.5, 2.5, -4, 2))),
    "mitchellcubic": (
        2.0,
        _two_pieces(_polynomial(7 / 6, -2, 0, 8 / 9), _polynomial(-7 / 18, 2, -10 / 3, 16 / 9)),
    ),
}
