"""Concatenation and splitting."""

from pinnace.deploy.onnx.converters.array.permutations import Moved
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("ConcatV2")
def concat_v2(g: GraphBuilder, call: NodeView, xs: tuple[Value, ...], axis: Value) -> Value:
    """Concat, whose axis is an attribute."""
    return _joined(g, xs, axis, call.axes(1, xs[0].rank))


@converts("Concat")
def concat(g: GraphBuilder, call: NodeView, axis: Value, xs: tuple[Value, ...]) -> Value:
    """Concat with the axis as the first input."""
    return _joined(g, xs, axis, call.axes(0, xs[0].rank))


def _joined(g: GraphBuilder, xs: tuple[Value, ...], axis: Value, known: list[int] | None) -> Value:
    if len(xs) == 1:
        return g.op("Identity", xs[0])
    if known is not None:
        return g.op("Concat", *xs, axis=known[0])
    moved = Moved(g, axis, xs[0].rank)
    return moved.back(g.op("Concat", *map(moved.there, xs), axis=0))


@converts("Pack")
def pack(g: GraphBuilder, call: NodeView, xs: tuple[Value, ...]) -> Value:
    """Unsqueeze each, then Concat."""
    axis = call.attr("axis") % (xs[0].rank + 1)
    return g.concat([g.unsqueeze(x, axis) for x in xs], axis)


@converts("Unpack")
def unpack(g: GraphBuilder, call: NodeView, x: Value) -> tuple[Value, ...]:
    """Split into pieces of 1, then Squeeze each."""
    axis = call.attr("axis") % x.rank
    pieces = _split(g, x, axis, [1] * call.output_count)
    return tuple(g.squeeze(piece, axis) for piece in pieces)


@converts("Split")
def split(g: GraphBuilder, call: NodeView, axis: Value, x: Value) -> tuple[Value, ...]:
    """Split into equal pieces."""
    known = call.axes(0, x.rank)
    if known is not None:
        return _equal_pieces(g, x, known[0], call.output_count)
    moved = Moved(g, axis, x.rank)
    return tuple(map(moved.back, _equal_pieces(g, moved.there(x), 0, call.output_count)))


def _equal_pieces(g: GraphBuilder, x: Value, where: int, count: int) -> tuple[Value, ...]:
    whole = x.size(where)
    if whole is not None:
        return _split(g, x, where, [whole // count] * count)
    return (
        g.ops("Split", count, x, axis=where, num_outputs=count)
        if count > 1
        else (g.op("Identity", x),)
    )


@converts("SplitV", constants=("split_dim",))
def split_v(
    g: GraphBuilder, call: NodeView, x: Value, sizes: Value, axis: Value
) -> tuple[Value, ...]:
    """Split; a size of -1 is replaced by the remainder."""
    del axis
    where = call.needed_int(2, "split_dim") % x.rank
    known = call.constant(1)
    if known is None:
        return g.ops("Split", call.output_count, x, g.as_int64(sizes), axis=where)
    listed = [int(size) for size in known]
    if -1 in listed:
        whole = x.size(where)
        rest = sum(size for size in listed if size >= 0)
        if whole is None:
            left = g.op("Sub", g.size_of(x, where), g.ints(rest))
            parts = [left if size < 0 else g.ints(size) for size in listed]
            return g.ops("Split", len(listed), x, g.joined(*parts), axis=where)
        listed = [whole - rest if size < 0 else size for size in listed]
    return _split(g, x, where, listed)


def _split(g: GraphBuilder, x: Value, axis: int, sizes: list[int]) -> tuple[Value, ...]:
    if len(sizes) == 1:
        return (g.op("Identity", x),)
    return g.ops("Split", len(sizes), x, g.ints(*sizes), axis=axis)
