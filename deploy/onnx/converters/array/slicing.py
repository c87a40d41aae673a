"""Slices of tensors."""

from typing import NamedTuple

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework.tensor import Array

LAST = int(np.iinfo(np.int64).max)
FIRST = int(np.iinfo(np.int64).min)


class _Axis(NamedTuple):
    """The slice of one axis: ints, or vectors of one element if they are not constant."""

    axis: int
    start: int | Value
    end: int | Value
    step: int | Value


@converts("StridedSlice")
def strided_slice(
    g: GraphBuilder, call: NodeView, x: Value, begin: Value, end: Value, strides: Value
) -> Value:
    """One Slice, then one Squeeze, then one Unsqueeze."""
    rank, count = x.rank, call.input_spec(3).shape.num_elements()
    if count is None:
        call.fail("the length of begin must be known")
    steps = _entries(g, call.constant(3), strides, count)
    masks = {
        name: int(call.attr(f"{name}_mask"))
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    first = _entries(g, call.constant(1), begin, count)
    last = _entries(g, call.constant(2), end, count)
    given = sum(1 for i in range(count) if not (masks["ellipsis"] | masks["new_axis"]) >> i & 1)
    parts: list[_Axis] = []
    dropped: list[int] = []
    added: list[int] = []
    axis = place = 0
    for i in range(count):
        bit = 1 << i
        if masks["ellipsis"] & bit:
            axis += rank - given
            place += rank - given
        elif masks["new_axis"] & bit:
            added.append(place)
            place += 1
        elif masks["shrink_axis"] & bit:
            parts.append(_one(g, axis, first[i]))
            dropped.append(axis)
            axis += 1
        else:
            step = steps[i]
            start = _by_sign(g, step, 0, LAST) if masks["begin"] & bit else first[i]
            stop = _by_sign(g, step, LAST, FIRST) if masks["end"] & bit else last[i]
            parts.append(_backwards(g, x, _Axis(axis, start, stop, step)))
            axis += 1
            place += 1
    return _cut(g, x, parts, dropped, added)


def _by_sign(g: GraphBuilder, step: int | Value, forwards: int, backwards: int) -> int | Value:
    if isinstance(step, int):
        return forwards if step > 0 else backwards
    return g.where(g.binary("Greater", step, 0), g.ints(forwards), g.ints(backwards))


def _backwards(g: GraphBuilder, x: Value, part: _Axis) -> _Axis:
    """Backward slices that begin before index 0 are empty; ONNX would begin at index 0."""
    start, step = part.start, part.step
    if isinstance(step, int) and step > 0:
        return part
    if isinstance(start, int):
        size = x.size(part.axis)
        if start >= -1 or (size is not None and start >= -size):
            return part
    first, end = (g.ints(n) if isinstance(n, int) else n for n in (start, part.end))
    nothing = g.op("Less", first, g.op("Neg", g.size_of(x, part.axis)))
    if isinstance(step, Value):
        nothing = g.op("And", nothing, g.binary("Less", step, 0))
    return part._replace(end=g.where(nothing, g.ints(0), end))


def _entries(g: GraphBuilder, known: Array | None, vector: Value, count: int) -> list[int | Value]:
    if known is not None:
        return [int(number) for number in known]
    wide = g.as_int64(vector)
    return [g.op("Slice", wide, g.ints(i), g.ints(i + 1)) for i in range(count)]


def _one(g: GraphBuilder, axis: int, start: int | Value) -> _Axis:
    """x[start] along an axis; for -1, the end of the slice is the end of the axis."""
    if isinstance(start, int):
        return _Axis(axis, start, LAST if start == -1 else start + 1, 1)
    behind = g.op("Add", start, g.ints(1))
    return _Axis(axis, start, g.where(g.op("Equal", start, g.ints(-1)), g.ints(LAST), behind), 1)


def _cut(
    g: GraphBuilder, x: Value, parts: list[_Axis], dropped: list[int], added: list[int]
) -> Value:
    parts = [p for p in parts if not (p.step == 1 and _is_all(x, p))]
    result = x
    if (
        [part.axis for part in parts] == dropped
        and len(dropped) == 1
        and isinstance(parts[0].start, int)
    ):
        # A single index along one axis is a Gather with a scalar.
        result = g.op("Gather", x, g.index(parts[0].start), axis=parts[0].axis)
        dropped = []
    elif parts:
        result = g.op(
            "Slice",
            x,
            _vector(g, [p.start for p in parts]),
            _vector(g, [p.end for p in parts]),
            g.ints(*[p.axis for p in parts]),
            _vector(g, [p.step for p in parts]) if any(p.step != 1 for p in parts) else None,
        )
    if dropped:
        result = g.squeeze(result, *dropped)
    if added:
        result = g.unsqueeze(result, *added)
    return g.op("Identity", x) if result is x else result


def _is_all(x: Value, part: _Axis) -> bool:
    size = x.size(part.axis)
    ends = part.end == LAST or (size is not None and isinstance(part.end, int) and part.end >= size)
    return part.start == 0 and ends


def _vector(g: GraphBuilder, numbers: list[int | Value]) -> Value:
    if all(isinstance(number, int) for number in numbers):
        return g.ints(*[number for number in numbers if isinstance(number, int)])
    return g.joined(*[g.ints(number) if isinstance(number, int) else number for number in numbers])


@converts("Slice")
def box(g: GraphBuilder, call: NodeView, x: Value, begin: Value, size: Value) -> Value:
    """Slice; the size -1 stands for the rest of the axis."""
    starts, lengths = call.constant(1), call.constant(2)
    if x.rank == 0:
        return g.op("Identity", x)
    axes = g.ints(*range(x.rank))
    if starts is not None and lengths is not None:
        parts = [
            _Axis(axis, int(start), LAST if length == -1 else int(start + length), 1)
            for axis, (start, length) in enumerate(zip(starts, lengths, strict=True))
        ]
        return _cut(g, x, parts, [], [])
    first, count = g.as_int64(begin), g.as_int64(size)
    last = g.op("Add", first, count)
    if lengths is None or -1 in lengths:
        last = g.where(g.op("Equal", count, g.ints(-1)), g.ints(LAST), last)
    return g.op("Slice", x, first, last, axes)


@converts("StridedSliceGrad")
def strided_slice_grad(
    g: GraphBuilder,
    call: NodeView,
    sizes: Value,
    begin: Value,
    end: Value,
    strides: Value,
    dy: Value,
) -> Value:
    """Zeros with dy scattered to the slice, whose flat indices are a slice of all flat indices."""
    wide = g.as_int64(sizes)
    count = g.op("ReduceProd", wide, keepdims=0)
    known = call.output_spec().shape
    numbers = g.reshape(g.iota(count), wide)
    numbers.refine(known)
    if numbers.shape.rank is None:
        call.fail("the rank of the gradient must be known")
    places = strided_slice(g, call, numbers, begin, end, strides)
    zeros = g.fill(g.reshape(count, [1]), g.like(dy, 0))
    flat = g.op("ScatterElements", zeros, g.reshape(places, [-1]), g.reshape(dy, [-1]))
    return g.reshape(flat, wide)
