"""Empty rows of sparse tensors."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.converters.sparse.places import axes_of, sorted_order
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("SparseFillEmptyRows")
def fill_empty_rows(
    g: GraphBuilder, call: NodeView, indices: Value, values: Value, shape: Value, default: Value
) -> tuple[Value, Value, Value, Value]:
    """An element is added for each empty row, then all are sorted by row."""
    count = axes_of(call, indices, shape)
    rows = g.op("Gather", indices, g.index(0), axis=1)
    zeros = g.fill(g.slice(shape, 0, 0, 1), g.index(0))
    ones = g.expand(g.index(1), g.size_of(rows, 0))
    filled = g.op("ScatterElements", zeros, rows, ones, axis=0, reduction="add")
    empty = g.op("Equal", filled, g.index(0))
    added = g.transpose(g.op("NonZero", empty), [1, 0])
    if count > 1:
        added = g.op("Pad", added, g.ints(0, 0, 0, count - 1))
    fills = g.expand(default, g.size_of(added, 0))
    everything = g.op("Concat", indices, added, axis=0)
    order = sorted_order(g, g.op("Gather", everything, g.index(0), axis=1))
    # The inverse permutation: the new position of each element.
    number = g.iota(g.scalar(g.size_of(order, 0)))
    places = g.op("ScatterElements", order, order, number, axis=0)
    return (
        g.op("Gather", everything, order, axis=0),
        g.op("Gather", g.op("Concat", values, fills, axis=0), order, axis=0),
        g.cast(empty, dtypes.bool),
        g.slice(places, 0, 0, g.size_of(rows, 0)),
    )
