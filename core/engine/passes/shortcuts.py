"""Replaces slices and stacks of joined tensors by the parts that were joined.

A transformer's decoder keeps keys and values as one tensor. Each step unstacks it, appends the new
ones, stacks the result, and slices both parts out of it again: the old one, which is the original
tensor, and the new one. It also multiplies by a `Pack` of one matrix, the whole embedding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pinnace.engine.passes.rewriting import rewritten
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph.copying import Copy
from pinnace.graph.graph import Graph, GraphBuilder, Node, Value, constant_of
from pinnace.ops.array.constants import CONST
from pinnace.ops.array.joining import PACK
from pinnace.ops.array.reshaping import EXPAND_DIMS

if TYPE_CHECKING:
    from collections.abc import Sequence

# For each axis, the first element of a slice, and the first one after it.
Ranges: TypeAlias = "list[tuple[int, int]]"


def shortened(graph: Graph) -> Graph:
    """The same program with fewer copies of joined tensors.

    Args:
        graph: the program, with constants folded and calls inlined.
    """
    alone = Copy(GraphBuilder(graph.name))  # nodes that a shortcut adds to it are discarded
    alone.values.update((value, value) for node in graph.nodes for value in node.outputs)
    if any(_shortcut(node, alone) is not None for node in graph.nodes):
        return rewritten(graph, _shortcut)
    return graph


def _shortcut(node: Node, copy: Copy) -> Value | None:
    """The value in the copy that can replace a node's output; None if there is none.

    A new node is added if it moves less data.
    """
    if node.op is not PACK and node.op.name != "StridedSlice":
        return None
    if node.controls or any(value.dtype is dtypes.variant for value in node.inputs):
        return None
    if node.op is PACK:
        parts = [copy.values[value] for value in node.inputs]
        axis = _axis_of(node)
        if axis is None:
            return None
        if len(parts) == 1:
            # A Pack of one number stays: loops are recognised by it, as an index of their slices.
            return _expanded(node, parts[0], axis, copy) if parts[0].shape.rank else None
        return _whole(parts, axis)
    return _taken(node, copy)


def _axis_of(node: Node) -> int | None:
    """The axis of a Pack or Unpack, counted from 0; None if the rank is unknown."""
    joined = node.outputs[0] if node.op is PACK else node.inputs[0]
    axis: int = node.attrs["axis"]
    return None if joined.shape.rank is None else axis % joined.shape.rank


def _expanded(node: Node, part: Value, axis: int, copy: Copy) -> Value:
    """Replace a Pack of one tensor by an ExpandDims, which copies nothing."""
    array = np.array(axis, np.int32)
    spec = TensorSpec.of(Shape([]), dtypes.int32)
    attrs = {"value": array, "dtype": dtypes.int32}
    place = copy.target.add_raw(CONST, (), attrs, f"{node.name}/axis", [spec]).outputs[0]
    attrs = EXPAND_DIMS.full_attrs({"T": part.dtype, "Tdim": dtypes.int32})
    spec = node.outputs[0].spec
    made = copy.target.add_raw(EXPAND_DIMS, [part, place], attrs, node.name, [spec])
    made.source = node.source
    return made.outputs[0]


def _whole(parts: Sequence[Value], axis: int) -> Value | None:
    """The tensor that an Unpack along an axis separated into these parts; None if there is none."""
    node = parts[0].node
    if node.op.name != "Unpack" or node.controls or _axis_of(node) != axis:
        return None
    return node.inputs[0] if tuple(parts) == tuple(node.outputs) else None


def _taken(node: Node, copy: Copy) -> Value | None:
    """A slice of a stacked or concatenated tensor, from its whole parts; None if it cuts any."""
    source = copy.values[node.inputs[0]]
    if source.node.op.name not in {"Pack", "ConcatV2"} or source.node.controls:
        return None
    ranges = _ranges(node, source)
    if ranges is None:
        return None
    if source.node.op.name == "ConcatV2":
        return _part(source, ranges)
    axis = _axis_of(source.node)
    if axis is None or ranges[axis] != (0, source.shape[axis]):
        return None
    inner = ranges[:axis] + ranges[axis + 1 :]
    parts = [_part(value, inner) for value in source.node.inputs]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    whole = _whole(found, axis)
    if whole is not None:
        return whole
    attrs = {**source.node.attrs, "N": len(found)}
    made = copy.target.add_raw(PACK, found, attrs, node.name, [node.outputs[0].spec])
    made.source = node.source
    return made.outputs[0]


def _part(value: Value, ranges: Ranges) -> Value | None:
    """The input of a ConcatV2 that a slice of it consists of; None if there is no such input."""
    node = value.node
    if node.op.name != "ConcatV2" or node.controls:
        return None
    *parts, joint = node.inputs
    known, rank = constant_of(joint), value.shape.rank
    if known is None or rank is None:
        return None
    axis = int(known.reshape(-1)[0]) % rank
    if any(ranges[k] != (0, value.shape[k]) for k in range(rank) if k != axis):
        return None
    start = 0
    for part in parts:
        size = part.shape[axis] if part.shape.rank == rank else None
        if size is None:
            return None
        if ranges[axis] == (start, start + size):
            return part
        start += size
    return None


_MASKS = ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _ranges(node: Node, source: Value) -> Ranges | None:
    """The ranges that a StridedSlice takes, with step 1; None if they are unknown, or others."""
    bounds = [constant_of(value) for value in node.inputs[1:4]]
    rank = source.shape.rank
    if rank is None or not source.shape.is_fully_defined() or any(node.attrs[m] for m in _MASKS):
        return None
    begin, end, steps = bounds
    if begin is None or end is None or steps is None or np.any(steps != 1) or steps.size > rank:
        return None
    found = []
    for k, size in enumerate(source.shape.as_list()):
        whole = k >= steps.size
        first = None if whole or node.attrs["begin_mask"] >> k & 1 else int(begin[k])
        last = None if whole or node.attrs["end_mask"] >> k & 1 else int(end[k])
        found.append(slice(first, last).indices(int(size or 0))[:2])
    return found
