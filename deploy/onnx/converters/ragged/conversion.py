"""Conversion of ragged tensors to dense and sparse ones."""

from typing import NamedTuple

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


class Rows(NamedTuple):
    """The partition of values into rows.

    Attributes:
        owners: the row of each value.
        starts: the first value of each row.
        lengths: the number of values in each row.
    """

    owners: Value
    starts: Value
    lengths: Value


@converts("RaggedTensorToTensor")
def to_tensor(
    g: GraphBuilder,
    call: NodeView,
    shape: Value,
    values: Value,
    default: Value,
    parts: tuple[Value, ...],
) -> Value:
    """Scatter of the values to computed indices; values out of bounds go to an extra element."""
    nested = _nested(g, call, parts)
    sizes = [g.size_of(nested[0].starts, 0)]
    for rows in nested:
        longest = g.op("ReduceMax", g.joined(rows.lengths, g.ints(0)), g.ints(0), keepdims=1)
        sizes.append(longest)
    wanted = call.constant(0)
    for axis in range(len(sizes) if shape.rank else 0):
        if wanted is not None:
            if wanted[axis] >= 0:
                sizes[axis] = g.ints(int(wanted[axis]))
            continue
        told = g.slice(g.as_int64(shape), 0, axis, axis + 1)
        sizes[axis] = g.where(g.binary("Less", told, 0), sizes[axis], told)
    place = g.iota(g.scalar(g.size_of(nested[0].starts, 0)))
    kept = g.op("Less", place, sizes[0])
    for rows, size in zip(nested, sizes[1:], strict=True):
        index = g.iota(g.scalar(g.size_of(rows.owners, 0)))
        column = g.op("Sub", index, g.op("Gather", rows.starts, rows.owners, axis=0))
        kept = g.op("And", g.op("Gather", kept, rows.owners, axis=0), g.op("Less", column, size))
        first = g.op("Mul", g.op("Gather", place, rows.owners, axis=0), size)
        place = g.op("Add", first, column)
    outer = g.op("ReduceProd", g.joined(*sizes), keepdims=1)
    inner = [g.shape_of(values, 1, values.rank)] if values.rank > 1 else []
    filled = g.expand(default, g.joined(g.op("Add", outer, g.ints(1)), *inner))
    slot = g.unsqueeze(g.where(kept, place, outer), 1)
    flat = g.slice(g.op("ScatterND", filled, slot, values), 0, 0, outer)
    return g.reshape(flat, g.joined(*sizes, *inner))


def _nested(g: GraphBuilder, call: NodeView, parts: tuple[Value, ...]) -> list[Rows]:
    found: list[Rows] = []
    count: Value | None = None
    for part, kind in zip(parts, call.attr("row_partition_types"), strict=True):
        name = kind.decode() if isinstance(kind, bytes) else kind
        part = g.as_int64(part)
        if name == "FIRST_DIM_SIZE":
            count = g.reshape(part, [1])
            continue
        if name == "ROW_SPLITS":
            rows = rows_of_splits(g, part)
        elif count is not None:
            rows = _of_owners(g, part, count)
        else:
            call.fail("VALUE_ROWIDS must come after FIRST_DIM_SIZE or ROW_SPLITS")
        found.append(rows)
        count = g.size_of(rows.owners, 0)
    if not found:
        call.fail("it must have at least one row partition")
    return found


def rows_of_splits(g: GraphBuilder, splits: Value) -> Rows:
    """Rows from int64 row splits."""
    starts, ends = g.slice(splits, 0, 0, -1), g.slice(splits, 0, 1, (1 << 63) - 1)
    count = g.op("Gather", splits, g.ints(-1), axis=0)
    ones = g.expand(g.index(1), g.shape_of(ends))
    none = g.fill(g.op("Add", count, g.ints(1)), g.index(0))
    over = g.op("ScatterElements", none, ends, ones, axis=0, reduction="add")
    owners = g.slice(g.op("CumSum", over, g.index(0)), 0, 0, count)
    return Rows(owners, starts, g.op("Sub", ends, starts))


def _of_owners(g: GraphBuilder, owners: Value, count: Value) -> Rows:
    ones = g.expand(g.index(1), g.size_of(owners, 0))
    zeros = g.fill(count, g.index(0))
    lengths = g.op("ScatterElements", zeros, owners, ones, axis=0, reduction="add")
    return Rows(owners, g.op("CumSum", lengths, g.index(0), exclusive=1), lengths)


@converts("RaggedTensorToSparse")
def to_sparse(
    g: GraphBuilder, call: NodeView, nested: tuple[Value, ...], values: Value
) -> tuple[Value, Value, Value]:
    """The indices of each value, axis by axis."""
    del call
    sizes = [g.op("Sub", g.size_of(nested[0], 0), g.ints(1))]
    columns = [g.iota(g.scalar(sizes[0]))]
    for splits in nested:
        rows = rows_of_splits(g, g.as_int64(splits))
        sizes.append(g.op("ReduceMax", g.joined(rows.lengths, g.ints(0)), g.ints(0), keepdims=1))
        index = g.iota(g.scalar(g.size_of(rows.owners, 0)))
        columns = [g.op("Gather", column, rows.owners, axis=0) for column in columns]
        columns.append(g.op("Sub", index, g.op("Gather", rows.starts, rows.owners, axis=0)))
    if values.rank > 1:
        inner = g.shape_of(values, 1, values.rank)
        flat = g.iota(g.op("Size", values))
        place = g.op("Div", flat, g.op("ReduceProd", inner, keepdims=1))
        columns = [g.op("Gather", column, place, axis=0) for column in columns]
        for axis in range(1, values.rank):
            rest = g.shape_of(values, axis + 1, values.rank)
            step = g.op("ReduceProd", rest, keepdims=1) if axis + 1 < values.rank else g.ints(1)
            columns.append(g.op("Mod", g.op("Div", flat, step), g.size_of(values, axis)))
        sizes.append(inner)
    indices = g.concat([g.unsqueeze(column, 1) for column in columns], 1)
    return indices, g.reshape(values, [-1]), g.joined(*sizes)
