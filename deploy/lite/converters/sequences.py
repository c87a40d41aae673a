"""The source of a recurrent loop's rows: the tensor before reversals, transposes and products."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.graph.graph import constant_of
from pinnace.graph.known import known_value

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

_SAME = {"Identity", "StopGradient"}


class Rows(NamedTuple):
    """A tensor of rank 3 with the steps along one axis and the examples along another.

    Attributes:
        value: the tensor.
        time: the axis of the steps, 0 or 1.
        is_reversed: whether the loop takes the last step first.
        weights: the matrix that multiplies its rows before the loop; None for none.
        shift: the vector that is added then; None for none.
        seen: every value passed on the way, with its axis of steps, all of one length.
    """

    value: Value
    time: int
    is_reversed: bool
    weights: Array | None
    shift: Array | None
    seen: tuple[tuple[Value, int], ...]


def rows_of(sequence: Value) -> Rows:
    """The rows of a list, or of a tensor with the steps along its first axis."""
    node = sequence.node
    value = node.inputs[0] if node.op.name == "TensorListFromTensor" else sequence
    found = Rows(value, 0, False, None, None, ((sequence, 0), (value, 0)))
    while True:
        before = _before(found)
        if before is None:
            return found
        found = before._replace(seen=(*before.seen, (before.value, before.time)))


def _before(rows: Rows) -> Rows | None:
    """The rows one op earlier; None if that op is not a reversal, transpose or product."""
    node = rows.value.node
    name = node.op.name
    if name in _SAME:
        return rows._replace(value=node.inputs[0])
    if name == "Transpose":
        order = constant_of(node.inputs[1])
        if order is not None and order.tolist() == [1, 0, 2]:
            return rows._replace(value=node.inputs[0], time=1 - rows.time)
    if name == "ReverseV2":
        axes = constant_of(node.inputs[1])
        if axes is not None and axes.size == 1 and int(axes.reshape(-1)[0]) in _axes(rows.time):
            return rows._replace(value=node.inputs[0], is_reversed=not rows.is_reversed)
    return _multiplied(rows) if rows.weights is None else None


def _axes(axis: int) -> tuple[int, int]:
    return axis, axis - 3


def _multiplied(rows: Rows) -> Rows | None:
    """The rows before a product with constant weights and the addition of a constant."""
    value, shift = rows.value, None
    if value.node.op.name in {"BiasAdd", "AddV2", "Add"}:
        shift = constant_of(value.node.inputs[1])
        if shift is None or shift.size != value.shape[-1]:
            return None
        shift, value = shift.reshape(-1), value.node.inputs[0]
    node = value.node
    product = node.inputs[0].node if node.op.name == "Reshape" else node
    weights = _weights(product)
    if weights is None:
        return None
    source = product.inputs[0]
    if product is not node:
        if source.node.op.name != "Reshape":
            return None
        source = source.node.inputs[0]
    if source.shape.rank != 3 or source.shape[-1] != weights.shape[0]:
        return None
    if product is not node and not _keeps(source, value):
        return None
    return rows._replace(value=source, weights=weights, shift=shift)


def _weights(product: Node) -> Array | None:
    """The constant matrix of a product; None if the node is something else."""
    attrs = product.attrs
    is_turned = any(attrs.get(name) for name in ("transpose_a", "adj_x", "adj_y"))
    if product.op.name not in {"MatMul", "BatchMatMulV2"} or is_turned:
        return None
    found = constant_of(product.inputs[1])
    if found is None or found.ndim != 2:
        return None
    return (found.T if attrs.get("transpose_b") else found).astype(np.float64)


def _keeps(source: Value, value: Value) -> bool:
    """Whether a reshape restores the two leading axes that a product's rows had."""
    if value.shape.rank != 3:
        return False
    before, after = list(source.shape)[:2], list(value.shape)[:2]
    if before == after and before.count(None) < 2:
        return True
    sizes = value.node.inputs[1].node
    if sizes.op.name not in {"ConcatV2", "Pack"}:
        return False
    first = sizes.inputs[0].node
    if sizes.op.name == "ConcatV2":
        return _shape_of(first, source) and first.outputs[0].shape == (2,)
    return len(sizes.inputs) == 3 and all(
        is_size(one, source, axis) for axis, one in enumerate(sizes.inputs[:2])
    )


def _shape_of(node: Node, source: Value) -> bool:
    """Whether a node computes the first of the sizes of a value."""
    if node.op.name != "StridedSlice" or node.inputs[0].node.op.name != "Shape":
        return False
    bounds = [constant_of(value) for value in node.inputs[1:]]
    begins = bounds[0] is not None and int(bounds[0].reshape(-1)[0]) == 0
    is_plain = bounds[2] is not None and int(bounds[2].reshape(-1)[0]) == 1
    return begins and is_plain and node.inputs[0].node.inputs[0] is source


def is_size(value: Value, source: Value, axis: int) -> bool:
    """Whether a number is the size of an axis of a value."""
    while value.node.op.name in {"Cast", *_SAME}:
        value = value.node.inputs[0]
    known, size = known_value(value), source.shape[axis] if source.shape.rank else None
    if known is not None:
        return known.size == 1 and size is not None and int(known.reshape(-1)[0]) == size
    node = value.node
    if node.op.name == "TensorListLength":
        return axis == 0 and node.inputs[0] is source
    if node.op.name != "StridedSlice" or value.shape.rank != 0:
        return False
    begin = constant_of(node.inputs[1])
    shape = node.inputs[0].node
    if begin is None or begin.size != 1 or shape.op.name != "Shape":
        return False
    place = int(begin.reshape(-1)[0])
    return place in {axis, axis - (source.shape.rank or 0)} and shape.inputs[0] is source


def has_steps(rows: Rows, limit: int | Value) -> bool:
    """Whether a number of steps is the number of rows."""
    if isinstance(limit, int):
        return any(v.shape.rank and v.shape[time] == limit for v, time in rows.seen)
    return any(is_size(limit, value, time) for value, time in rows.seen)
