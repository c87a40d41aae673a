"""Rows of ragged tensors."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.ragged.conversion import rows_of_splits
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("RaggedGather")
def gather(
    g: GraphBuilder, call: NodeView, nested: tuple[Value, ...], values: Value, indices: Value
) -> tuple[Value, ...]:
    """The gathered rows and their lengths, level by level."""
    dtype = call.output_spec().dtype
    found: list[Value] = []
    above = g.size_of(indices, 0) if indices.rank else g.ints(1)
    for axis in range(1, indices.rank):  # dense axes become rows of equal length
        size = g.size_of(indices, axis)
        count = g.op("Add", above, g.ints(1))
        found.append(g.op("Mul", g.iota(g.scalar(count)), size))
        above = g.op("Mul", above, size)
    chosen = g.reshape(g.as_int64(indices), [-1])
    for splits in nested:
        wide = g.as_int64(splits)
        starts = g.op("Gather", wide, chosen, axis=0)
        ends = g.op("Gather", wide, g.binary("Add", chosen, 1), axis=0)
        found.append(splits_of(g, g.op("Sub", ends, starts)))
        chosen = spans(g, starts, found[-1])
    if not indices.rank:
        del found[0]
    return *[g.cast(splits, dtype) for splits in found], g.op("Gather", values, chosen, axis=0)


def splits_of(g: GraphBuilder, lengths: Value) -> Value:
    """The row splits of rows with the given lengths."""
    return g.joined(g.ints(0), g.op("CumSum", lengths, g.index(0)))


def spans(g: GraphBuilder, starts: Value, splits: Value) -> Value:
    """Consecutive integers from each start, as many as its row has."""
    rows = rows_of_splits(g, splits)
    place = g.iota(g.scalar(g.size_of(rows.owners, 0)))
    shifts = g.op("Sub", starts, rows.starts)
    return g.op("Add", place, g.op("Gather", shifts, rows.owners, axis=0))
