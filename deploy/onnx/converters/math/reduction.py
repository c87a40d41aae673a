"""Reductions over axes."""

from collections.abc import Callable

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph.known import known_value


def reduced(g: GraphBuilder, call: NodeView, kind: str, x: Value, axes: Value) -> Value:
    """A reduction with the axes as its second input; empty axes reduce nothing."""
    known = call.constant(1)
    keep = int(call.attr("keep_dims"))
    if known is not None:
        found = [int(axis) for axis in known.reshape(-1)]
        if x.shape.rank is not None:
            found = sorted({axis % x.rank for axis in found}) if x.rank else []
        if not found:
            return g.op("Abs" if kind == "ReduceL2" else "Identity", x)
        if (
            kind == "ReduceMean"
            and any(x.size(axis) == 0 for axis in found)
            and x.dtype.is_floating
        ):
            # The mean of an empty tensor is NaN; ONNX Runtime returns 0.
            nothing = g.op("ReduceSum", x, g.ints(*found), keepdims=keep)
            return g.binary("Div", nothing, 0)
        return g.op(kind, x, g.ints(*found), keepdims=keep)
    if _are_all(call):
        made = g.op(kind, x, keepdims=keep)
        if not keep:
            made.refine(Shape([]))
        return made
    listed = g.as_int64(axes)
    if listed.shape.rank == 0:
        listed = g.unsqueeze(listed, 0)
    made = g.op(kind, x, listed, keepdims=keep, noop_with_empty_axes=1)
    count = listed.shape.num_elements()
    if count is not None and x.shape.rank is not None and not keep:
        made.refine(Shape([None] * (x.rank - count)))  # axes are distinct
    return made


def _are_all(call: NodeView) -> bool:
    """Whether the axes are `range(0, rank(x))`, for any rank of x."""
    x, axes = call.node.inputs
    if axes.node.op.name != "Range":
        return False
    start, limit, step = axes.node.inputs
    bounds = [known_value(start), known_value(step)]
    while limit.node.op.name == "Cast":
        limit = limit.node.inputs[0]
    ranked = limit.node.op.name == "Rank" and limit.node.inputs[0] is x
    return ranked and [None if n is None else n.item() for n in bounds] == [0, 1]


_NARROW = {dtypes.int8, dtypes.int16, dtypes.uint8, dtypes.uint16}
_KINDS = {"Sum": "ReduceSum", "Prod": "ReduceProd"}


@converts(*_KINDS)
def reduction(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """ReduceSum or ReduceProd; for integers they wrap and are exact."""
    kind = _KINDS[call.node.op.name]
    if not x.is_size and kind == "ReduceProd" and x.dtype in _NARROW:
        wide = g.cast(x, dtypes.int32)  # its products wrap, so the lower bits are right
        return g.cast(_whole_product(g, call, wide, axes), x.dtype)
    if x.is_size or x.dtype not in {dtypes.int32, dtypes.int64}:
        return reduced(g, call, kind, x, axes)
    return _whole_sum(g, call, x, axes) if kind == "ReduceSum" else _whole_product(g, call, x, axes)


# ONNX Runtime reduces integers in float64: exact below 2**53, and saturated beyond their range.
_HALF = 1 << 31


def _whole_sum(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    return in_halves(g, x, lambda part: reduced(g, call, "ReduceSum", part, axes))


def in_halves(g: GraphBuilder, x: Value, summed: Callable[[Value], Value]) -> Value:
    """The sums of the upper and of the lower halves, exact for up to a million numbers.

    Args:
        g: the builder to add operators to.
        x: int32 or int64.
        summed: ReduceSum of int64.
    """
    wide = g.as_int64(x)
    node = x.node
    source = node.inputs[0] if node is not None and node.kind == "Cast" else None
    is_narrow = source is not None and (source.dtype is dtypes.bool or source.dtype.size < 4)
    if x.dtype is dtypes.int32 or is_narrow:
        return g.cast(summed(wide), x.dtype)
    upper = g.binary("Div", wide, _HALF)
    lower = g.op("Sub", wide, g.binary("Mul", upper, _HALF))
    high, low = summed(upper), summed(lower)
    return g.op("Add", g.binary("Mul", high, _HALF), low)


def total(g: GraphBuilder, x: Value, *axes: Value, keep: int) -> Value:
    """ReduceSum for any type, exact for integers.

    Args:
        g: the builder to add operators to.
        x: the tensor.
        axes: a vector of axes; none for all axes.
        keep: 1 keeps them with size 1.
    """

    def summed(part: Value) -> Value:
        return g.op("ReduceSum", part, *axes, keepdims=keep)

    return in_halves(g, x, summed) if x.dtype in {dtypes.int32, dtypes.int64} else summed(x)


def _whole_product(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """One half of the elements times the other half, repeatedly."""
    known = call.constant(1)
    if known is None and x.shape.rank:
        return _product_by_axes(g, call, x, axes)
    found = {} if known is None or not x.rank else {int(n) % x.rank: None for n in known.flat}
    sizes = [x.size(axis) for axis in found]
    if not found or any(size == 0 for size in sizes):
        return reduced(g, call, "ReduceProd", x, axes)
    for axis, size in zip(found, sizes, strict=True):
        if size is None:
            x = _product_along(g, x, axis)
            continue
        left = size
        while left > 1:
            half = left // 2
            rest = [g.slice(x, axis, 2 * half, left)] if left % 2 else []
            product = g.op("Mul", g.slice(x, axis, 0, half), g.slice(x, axis, half, 2 * half))
            x, left = g.concat([product, *rest], axis), half + len(rest)
    return g.op("Identity", x) if call.attr("keep_dims") else g.squeeze(x, *found)


def _product_by_axes(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """The product over computed axes: along each axis if it is among them."""
    listed = g.as_int64(axes)
    if listed.shape.rank == 0:
        listed = g.unsqueeze(listed, 0)
    rank = x.rank
    places = g.binary("Mod", listed, rank)
    among = g.op("Equal", g.unsqueeze(places, 1), g.constant(np.arange(rank)))
    counts = g.op("ReduceSum", g.as_int64(among), g.ints(0), keepdims=0)
    for axis in range(rank):
        is_wanted = g.binary("Greater", g.scalar(g.slice(counts, 0, axis, axis + 1)), 0)
        x = _product_along(g, x, axis, is_wanted)
    if call.attr("keep_dims"):
        return x
    # Squeeze without axes would remove all axes of size 1, hence the reshape.
    kept = g.op("Compress", g.shape_of(x), g.binary("Equal", counts, 0), axis=0)
    made = g.reshape(x, kept)
    count = listed.shape.num_elements()
    if count is not None:
        made.refine(Shape([None] * (rank - count)))  # axes are distinct
    return made


def _product_along(g: GraphBuilder, x: Value, axis: int, is_wanted: Value | None = None) -> Value:
    """The product along an axis of unknown size, which becomes 1: it is halved in each iteration.

    Args:
        g: the builder to add operators to.
        x: int32 or int64.
        axis: the axis.
        is_wanted: whether to reduce it, a bool scalar; None for yes.
    """
    rank = x.rank
    pads = np.zeros(2 * rank, np.int64)
    pads[rank + axis] = 1  # one element, even for an empty axis
    amounts = g.constant(pads)
    if is_wanted is not None:
        amounts = g.op("Mul", amounts, g.as_int64(is_wanted))
    x = g.op("Pad", x, amounts, g.like(x, 1))
    sizes = [None if one == axis else x.size(one) for one in range(rank)]
    spec = TensorSpec.of(Shape(sizes), x.dtype)
    body = g.body()
    body.input("turn", TensorSpec([], dtypes.int64))
    body.input("go", TensorSpec([], dtypes.bool))
    now = body.input("numbers", spec)
    count = body.size_of(now, axis)
    half = body.binary("Div", count, 2)
    twice = body.binary("Mul", half, 2)
    product = body.op("Mul", body.slice(now, axis, 0, half), body.slice(now, axis, half, twice))
    after = body.concat([product, body.slice(now, axis, twice, count)], axis)
    body.result(body.binary("Greater", body.scalar(body.size_of(after, axis)), 1))
    body.result(after)
    trips = g.constant(np.array(np.iinfo(np.int64).max))
    (made,) = g.with_bodies("Loop", [spec], trips, is_wanted, x, body=body)
    known = 1 if is_wanted is None else None
    made.refine(Shape([known if one == axis else size for one, size in enumerate(sizes)]))
    return made


@converts("Mean")
def mean(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """ReduceMean; for integers the sum divided by the count, which rounds as the kernel does."""
    return reduced(g, call, "ReduceMean", x, axes)


@converts("Max")
def maximum(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """ReduceMax."""
    return reduced(g, call, "ReduceMax", x, axes)


@converts("Min")
def minimum(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """ReduceMin."""
    return reduced(g, call, "ReduceMin", x, axes)


@converts("EuclideanNorm")
def euclidean_norm(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """ReduceL2."""
    return reduced(g, call, "ReduceL2", x, axes)


@converts("All")
def every(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """The minimum of uint8."""
    return g.cast(reduced(g, call, "ReduceMin", g.cast(x, dtypes.int32), axes), dtypes.bool)


@converts("Any")
def some(g: GraphBuilder, call: NodeView, x: Value, axes: Value) -> Value:
    """The sum of uint8, so that it is false for an empty axis."""
    return g.cast(reduced(g, call, "ReduceSum", g.cast(x, dtypes.int32), axes), dtypes.bool)
