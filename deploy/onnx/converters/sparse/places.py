"""Flat indices of sparse tensors."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


def axes_of(call: NodeView, indices: Value, shape: Value) -> int:
    """The rank of a sparse tensor, which must be known."""
    count = indices.size(1) if indices.shape.rank == 2 else None
    if count is None:
        count = shape.size(0)
    if count is None:
        call.fail("the rank of the sparse tensor must be known")
    return count


def numbered(g: GraphBuilder, indices: Value, shape: Value, count: int) -> Value:
    """The flat index of each element in row-major order: int64 [n]."""
    place = g.op("Gather", indices, g.index(0), axis=1)
    for axis in range(1, count):
        size = g.slice(shape, 0, axis, axis + 1)
        place = g.op("Mul", place, size)
        place = g.op("Add", place, g.op("Gather", indices, g.index(axis), axis=1))
    return place


def spread(g: GraphBuilder, places: Value, shape: Value, count: int) -> Value:
    """The indices [n, count] for flat indices."""
    columns: list[Value] = []
    for axis in reversed(range(count)):
        if axis == 0:
            columns.append(places)
            break
        size = g.slice(shape, 0, axis, axis + 1)
        columns.append(g.op("Mod", places, size))
        places = g.op("Div", places, size)
    return g.concat([g.unsqueeze(column, 1) for column in reversed(columns)], 1)


def sorted_order(g: GraphBuilder, keys: Value) -> Value:
    """The indices that sort numbers in ascending order; the sort is stable."""
    return g.ops("TopK", 2, keys, g.size_of(keys, 0), axis=0, largest=0, sorted=1)[1]
