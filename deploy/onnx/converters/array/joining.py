"""Tensors joined, and taken apart."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("ConcatV2", constants=("axis",))
def concat_v2(g: GraphBuilder, call: NodeView, xs: tuple[Value, ...], axis: Value) -> Value:
    """Concat, whose axis is an attribute."""
    del axis
    return _joined(g, xs, call.needed_int(1, "axis"))


@converts("Concat", constants=("concat_dim",))
def concat(g: GraphBuilder, call: NodeView, axis: Value, xs: tuple[Value, ...]) -> Value:
    """Concat, the axis first."""
    del axis
    return _joined(g, xs, call.needed_int(0, "concat_dim"))


def _joined(g: GraphBuilder, xs: tuple[Value, ...], axis: int) -> Value:
    return g.op("Concat", *xs, axis=axis % xs[0].rank) if len(xs) > 1 else g.op("Identity", xs[0])


@converts("Pack")
def pack(g: GraphBuilder, call: NodeView, xs: tuple[Value, ...]) -> Value:
    """Unsqueeze each, then Concat."""
    axis = call.attr("axis") % (xs[0].rank + 1)
    return g.concat([g.unsqueeze(x, axis) for x in xs], axis)


@converts("Unpack")
def unpack(g: GraphBuilder, call: NodeView, x: Value) -> tuple[Value, ...]:
    """Split in pieces of 1, then Squeeze each."""
    axis = call.attr("axis") % x.rank
    pieces = _split(g, x, axis, [1] * call.output_count)
    return tuple(g.squeeze(piece, axis) for piece in pieces)


@converts("Split", constants=("split_dim",))
def split(g: GraphBuilder, call: NodeView, axis: Value, x: Value) -> tuple[Value, ...]:
    """Split in equal pieces."""
    del axis
    where = call.needed_int(0, "split_dim") % x.rank
    count = call.output_count
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
    """Split; the size -1, what is left, is worked out here."""
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
