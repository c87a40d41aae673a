"""Constant folding: values that do not depend on arguments are computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.denormals import flushing
from pinnace.framework.errors import OpError
from pinnace.graph.copying import Copy
from pinnace.graph.graph import Graph, GraphBuilder, Node, Value, constant_of
from pinnace.graph.known import known_value
from pinnace.graph.walk import ordered
from pinnace.ops.array.constants import CONST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array

# A folded constant may not need more memory than this unless its inputs did (bytes).
_LARGEST = 1 << 20


def fold(graph: Graph) -> Graph:
    """Fold pure nodes on constants; drop identities and duplicates.

    Nodes that return a shape become constants if the shape is known.
    """
    copy = Copy(GraphBuilder(graph.name))
    copy.inputs(graph)
    arguments = {value.node for value in graph.inputs}
    seen: dict[object, Node] = {}
    for node in ordered(graph):
        if node in arguments:
            continue
        if node.controls and _wait_for_effects(copy.controls(node.controls, ())):
            # Consumers of its value, and nodes that wait for it, wait for those effects.
            copy.node(node)
            continue
        if node.op.alias:
            for output, value in zip(node.outputs, node.inputs, strict=True):
                copy.values[output] = copy.values[value]
            makers = (copy.nodes.get(value.node, ()) for value in node.inputs)
            waits = copy.controls(node.controls, ())
            copy.nodes[node] = tuple(
                dict.fromkeys((*(one for nodes in makers for one in nodes), *waits))
            )
            continue
        known = _joined_before(node, copy) or _computed(node, copy, seen)
        if known is not None:
            copy.values.update(zip(node.outputs, known, strict=True))
            nodes = (value.node for value in known if value.node.op is not CONST)
            copy.nodes[node] = copy.controls(node.controls, nodes)
            continue
        twin = _twin(node, copy, seen)
        if twin is not None:
            for output, same in zip(node.outputs, twin.outputs, strict=True):
                copy.values[output] = same
            copy.nodes[node] = (twin,)
    copy.outputs(graph)
    return copy.target.finish()


def _wait_for_effects(nodes: tuple[Node, ...]) -> bool:
    """Whether one of these has a side effect, or waits for a node that has."""
    pending, seen = list(nodes), set(nodes)
    while pending:
        node = pending.pop()
        if node.op.effect not in {None, "read"}:
            return True
        for one in node.controls:
            if one not in seen:
                seen.add(one)
                pending.append(one)
    return False


def _joined_before(node: Node, copy: Copy) -> tuple[Value, ...] | None:
    """The inputs of a ConcatV2 that the Split `node` separates into the same parts again."""
    if node.op.name != "Split":
        return None
    cut, whole = (copy.values[value] for value in node.inputs)
    if whole.node.op.name != "ConcatV2" or whole.node.controls:
        return None
    *parts, joint = whole.node.inputs
    axes = [constant_of(value) for value in (cut, joint)]
    ranks = {part.shape.rank for part in parts}
    if len(parts) != len(node.outputs) or len(ranks) != 1 or any(axis is None for axis in axes):
        return None
    rank = ranks.pop()
    if not rank:
        return None
    at, other = (int(np.asarray(axis).reshape(-1)[0]) % rank for axis in axes)
    lengths = {part.shape[at] for part in parts}
    return tuple(parts) if at == other and len(lengths) == 1 and None not in lengths else None


def _computed(node: Node, copy: Copy, seen: dict[object, Node]) -> tuple[Value, ...] | None:
    """The outputs as constants, if they do not depend on any argument."""
    arrays = _constants(node, copy)
    if arrays is None:
        return None
    return tuple(
        _constant(copy.target, node.name, array, output, seen)
        for output, array in zip(node.outputs, arrays, strict=True)
    )


def _constants(node: Node, copy: Copy) -> tuple[Any, ...] | None:
    op = node.op
    if op.stateful or op.kernel is None or op.wants_ctx or op.name == "Const" or not node.outputs:
        return None
    if any(value.dtype is dtypes.variant for value in node.outputs):
        return None  # runs that share a list would affect each other
    if op.shape_query:
        known = tuple(known_value(value) for value in node.outputs)
        return None if any(one is None for one in known) else known
    arrays = [constant_of(copy.values[value]) for value in node.inputs]
    return outcome(node, [array for array in arrays if array is not None])


def outcome(node: Node, arrays: Sequence[Array]) -> tuple[Array, ...] | None:
    """The outputs of a node on given arrays, as in a run: denormals are flushed to zero.

    The result is None if arrays are missing, if the node fails, or if the outputs are too large.

    Args:
        node: a node whose op has neither state nor effects.
        arrays: its inputs.
    """
    op, kernel = node.op, node.op.kernel
    if len(arrays) < len(node.inputs) or kernel is None:
        return None
    options = {name: node.attrs[name] for name in op.kernel_attrs}
    try:
        with np.errstate(all="ignore"):
            result = flushing(kernel)(*op.pack_inputs(arrays, node.attrs), **options)
    except (OpError, ValueError, TypeError, IndexError):
        return None  # it fails at run time, with its node's name, if it is executed
    if len(op.outputs) == 1 and not op.outputs[0].is_list:
        result = (result,)
    held = sum(array.nbytes for array in arrays)
    if sum(np.asarray(array).nbytes for array in result) > max(_LARGEST, held):
        return None
    return tuple(result)


def _constant(
    graph: GraphBuilder, name: str, array: Any, like: Value, seen: dict[object, Node]
) -> Value:
    array = np.asarray(array)
    key = _constant_key(array)
    known = seen.get(key) if key is not None else None
    if known is None:
        known = graph.add_raw(CONST, (), {"value": array, "dtype": like.dtype}, name, [like.spec])
        known.outputs[0].refine(type(like.shape)(array.shape))
        if key is not None:
            seen[key] = known
    return known.outputs[0]


def _constant_key(array: Any) -> object:
    if array.dtype == object or array.nbytes > 1024:
        return None
    return ("Const", array.dtype, array.shape, array.tobytes())


def _twin(node: Node, copy: Copy, seen: dict[object, Node]) -> Node | None:
    """The node that already computes the same; else a copy of this one."""
    key: object = None
    if node.op.name == "ReadVariableOp":
        # A read without control inputs returns the value before the run: nodes that change the
        # variable wait for it.
        if not copy.controls(node.controls):
            key = (node.op.name, copy.values[node.inputs[0]], node.outputs[0].dtype)
    elif (
        not node.op.stateful
        and not node.controls
        and not any(value.dtype is dtypes.variant for value in node.outputs)
    ):
        if node.op.name == "Const":
            key = _constant_key(np.asarray(node.attrs["value"]))
        else:
            try:
                key = (
                    node.op.name,
                    tuple(copy.values[v] for v in node.inputs),
                    tuple(sorted(node.attrs.items())),
                )
                hash(key)
            except TypeError:
                key = None
    known = seen.get(key) if key is not None else None
    if known is not None:
        return known
    made = copy.node(node)
    if key is not None:
        seen[key] = made
    return made
