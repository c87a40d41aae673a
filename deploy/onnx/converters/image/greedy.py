"""Suppression box by box, for lowered scores or given overlaps, which ONNX's operator lacks.

As in the kernel: the best score is examined; if it has not changed since it was last examined, its
box is selected, otherwise it returns to the queue with its reduced score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.deploy.onnx.ir.builder import GraphBuilder
    from pinnace.deploy.onnx.ir.graph import Value

    # (body, number of the chosen box) -> the factor by which each score is multiplied.
    Left = Callable[[GraphBuilder, Value], Value]

_NONE = -np.inf


def chosen(
    g: GraphBuilder, scores: Value, most: Value, least: Value, left: Left, soft: Value | None
) -> tuple[Value, Value]:
    """The indices of the selected boxes, int64, and their scores, best first.

    Args:
        g: the graph.
        scores: float32 [n].
        most: the largest number of boxes, an int64 scalar.
        least: boxes need a larger score, a float32 scalar.
        left: the factors of the scores.
        soft: whether boxes with lowered scores may be selected; None if none are lowered.
    """
    start = g.where(g.op("Greater", scores, least), scores, g.like(scores, _NONE))
    body = g.body()
    body.input("turn", TensorSpec([], dtypes.int64))
    body.input("go", TensorSpec([], dtypes.bool))
    row = TensorSpec([None], dtypes.float32)
    number = TensorSpec([], dtypes.int64)
    now = body.input("scores", row)
    factors = body.input("factors", row)
    count = body.input("count", number)
    best = body.op("ArgMax", now, axis=0, keepdims=0)
    score = body.op("Gather", now, best, axis=0)
    factor = body.op("Gather", factors, best, axis=0)
    lowered = body.op("Mul", score, factor)
    stays = body.binary("Greater", factor, 0)
    nothing = body.like(score, _NONE)
    after = nothing
    if soft is not None:
        stays = body.op(
            "Or",
            body.op("And", soft, body.op("Equal", lowered, score)),
            body.op("And", body.op("Not", soft), stays),
        )
        again = body.op("And", soft, body.op("Not", stays))
        again = body.op("And", again, body.op("Greater", lowered, least))
        after = body.where(again, lowered, nothing)
    is_best = body.op("Equal", body.iota(body.scalar(body.size_of(now, 0))), best)
    fresh = body.where(is_best, body.like(factors, 1), factors)
    passed = body.op("Mul", fresh, left(body, best))
    now = body.where(is_best, after, now)
    count = body.op("Add", count, body.as_int64(stays))
    body.result(body.op("And", _any(body, now), body.op("Less", count, most)))
    for value in (now, body.where(stays, passed, fresh), count, best, score, stays):
        body.result(value)
    trips = g.constant(np.array(np.iinfo(np.int64).max))
    go = g.op("And", _any(g, start), g.binary("Greater", most, 0))
    ones = g.fill(g.shape_of(start), g.like(scores, 1))
    specs = [row, row, number]
    specs += [TensorSpec.of(Shape([None]), kind) for kind in (dtypes.int64, dtypes.float32)]
    specs.append(TensorSpec.of(Shape([None]), dtypes.bool))
    results = g.with_bodies("Loop", specs, trips, go, start, ones, g.index(0), body=body)
    places, values, kept = results[3:]
    return g.op("Compress", places, kept, axis=0), g.op("Compress", values, kept, axis=0)


def _any(g: GraphBuilder, scores: Value) -> Value:
    """Whether a score is left."""
    never = g.constant(np.array([_NONE], np.float32))
    highest = g.op("ReduceMax", g.op("Concat", scores, never, axis=0), keepdims=0)
    return g.binary("Greater", highest, _NONE)


def by_overlap(
    g: GraphBuilder, boxes: Value, most: Value, scale: Value | None, soft: Value | None
) -> Left:
    """The function that returns the factors of scores after a box was selected.

    Args:
        g: the graph.
        boxes: float32 [n, 4].
        most: a larger overlap suppresses a box, if scores are not lowered.
        scale: the factor of the squared overlap, in the exponent; None if scores are not lowered.
        soft: whether scores are lowered; None for never.
    """
    first, second = (g.slice(boxes, 1, start, start + 2) for start in (0, 2))
    low, high = g.op("Min", first, second), g.op("Max", first, second)
    areas = g.op("ReduceProd", g.op("Sub", high, low), g.ints(1), keepdims=0)

    def left(g: GraphBuilder, best: Value) -> Value:
        top, bottom = (g.op("Gather", corner, best, axis=0) for corner in (low, high))
        sides = g.op("Sub", g.op("Min", high, bottom), g.op("Max", low, top))
        shared = g.op("ReduceProd", g.binary("Max", sides, 0), g.ints(1), keepdims=0)
        area = g.op("Gather", areas, best, axis=0)
        has_area = g.op("And", g.binary("Greater", areas, 0), g.binary("Greater", area, 0))
        union = g.op("Sub", g.op("Add", area, areas), shared)
        one, zero = g.like(areas, 1), g.like(areas, 0)
        overlap = g.where(has_area, g.op("Div", shared, g.where(has_area, union, one)), zero)
        hard = g.where(g.op("Greater", overlap, most), zero, one)
        if scale is None or soft is None:
            return hard
        weight = g.op("Exp", g.op("Mul", g.op("Mul", scale, overlap), overlap))
        return g.where(soft, weight, hard)

    return left


def by_table(overlaps: Value, most: Value) -> Left:
    """`by_overlap` with given overlaps: a row for each box that may be suppressed."""

    def left(g: GraphBuilder, best: Value) -> Value:
        column = g.op("Gather", overlaps, best, axis=1)
        return g.where(g.op("Greater", column, most), g.like(column, 0), g.like(column, 1))

    return left
