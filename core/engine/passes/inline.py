"""Calls become what they call."""

from __future__ import annotations

from pinnace.framework.errors import InvalidArgumentError
from pinnace.graph.copying import Copy
from pinnace.graph.graph import Graph, Node
from pinnace.graph.walk import ordered

_CALLS = frozenset({"BatchFunction", "PartitionedCall", "StatefulPartitionedCall"})
_DEPTH = 200


def inline(graph: Graph) -> Graph:
    """The same program without calls: what nothing needs is left out on the way.

    What a stateful call had to wait for, its stateful nodes wait for; what had to wait for the call
    waits for all of them.
    """
    copy = Copy(Graph(graph.name))
    copy.inputs(graph)
    _copy_body(graph, copy, "", (), 0)
    copy.outputs(graph)
    return copy.target


def _copy_body(graph: Graph, copy: Copy, prefix: str, before: tuple[Node, ...], depth: int) -> None:
    if depth > _DEPTH:
        message = f"function {graph.name!r} calls itself: recursion cannot be run"
        raise InvalidArgumentError(message)
    arguments = {value.node for value in graph.inputs}
    for node in ordered(graph):
        if node in arguments:
            continue
        if node.op.name in _CALLS:
            _inline_call(node, copy, prefix, before, depth)
        else:
            copy.node(node, prefix, before if node.op.stateful else ())


def _inline_call(call: Node, copy: Copy, prefix: str, before: tuple[Node, ...], depth: int) -> None:
    callee = call.attrs["f"].graph
    if len(callee.inputs) != len(call.inputs):
        message = (
            f"node {call.name!r} calls {callee.name!r}, which takes {len(callee.inputs)} "
            f"arguments, with {len(call.inputs)}"
        )
        raise InvalidArgumentError(message)
    inner = Copy(copy.target)
    for argument, value in zip(callee.inputs, call.inputs, strict=True):
        inner.values[argument] = copy.values[value]
    waits = copy.controls(call.controls, before)
    _copy_body(callee, inner, f"{prefix}{call.name}/", waits, depth + 1)
    for result, output in zip(callee.outputs, call.outputs, strict=True):
        copy.values[output] = inner.values[result]
    made = (node for nodes in inner.nodes.values() for node in nodes if node.op.stateful)
    copy.nodes[call] = tuple(dict.fromkeys((*waits, *made)))
