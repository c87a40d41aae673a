"""Counts of values in sparse and ragged rows."""

from pinnace.deploy.onnx.converters.math.counting import added
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("SparseBincount")
def sparse_bincount(
    g: GraphBuilder,
    call: NodeView,
    indices: Value,
    values: Value,
    shape: Value,
    size: Value,
    weights: Value,
) -> Value:
    """Ones scattered and added; the first index is the row."""
    axes = call.input_spec(2).shape.num_elements()
    if axes is None:
        call.fail("the rank of its input must be known")
    if axes == 1:
        return _counted(g, call, None, None, values, size, weights)
    rows = g.reshape(g.slice(g.as_int64(indices), 1, 0, g.ints(1)), [-1])
    count = g.slice(g.as_int64(shape), 0, 0, g.ints(1))
    return _counted(g, call, rows, count, values, size, weights)


@converts("RaggedBincount")
def ragged_bincount(
    g: GraphBuilder, call: NodeView, splits: Value, values: Value, size: Value, weights: Value
) -> Value:
    """The row of a value is the number of rows that end before it."""
    ends = g.slice(g.as_int64(splits), 0, 1, 2**62)
    places = g.unsqueeze(g.iota(g.scalar(g.size_of(values, 0))), 1)
    over = g.as_int64(g.op("LessOrEqual", g.unsqueeze(ends, 0), places))
    rows = g.op("ReduceSum", over, g.ints(1), keepdims=0)
    return _counted(g, call, rows, g.size_of(ends, 0), values, size, weights)


def _counted(
    g: GraphBuilder,
    call: NodeView,
    rows: Value | None,
    count: Value | None,
    values: Value,
    size: Value,
    weights: Value,
) -> Value:
    """Values out of range are counted in an extra bin per row, which is removed."""
    binary = bool(call.attr("binary_output"))
    end = g.reshape(g.as_int64(size), [1])
    places = g.op("Min", g.as_int64(values), end)
    room = g.op("Add", end, g.ints(1))
    if rows is None or count is None:
        return g.slice(added(g, call, places, room, weights, binary=binary), 0, 0, end)
    flat = g.op("Add", places, g.op("Mul", rows, room))
    table = added(g, call, flat, g.op("Mul", count, room), weights, binary=binary)
    return g.slice(g.reshape(table, g.joined(count, room)), 1, 0, end)
