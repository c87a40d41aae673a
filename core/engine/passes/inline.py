"""Inlines function calls."""

from __future__ import annotations

from pinnace.framework.errors import InvalidArgumentError, ResourceExhaustedError
from pinnace.graph.copying import Copy
from pinnace.graph.graph import Graph, GraphBuilder, Node
from pinnace.graph.walk import ordered

# Most levels of nested calls: each takes some frames of Python.
_DEPTH = 200
# Limits for the nodes of a graph: a fixed number, and a multiple of the original one. A node takes
# some kilobytes; functions that call others twice double the number of nodes with each level. If a
# call cannot be kept, a higher limit applies before the program is refused.
_NODES, _NODES_AT_MOST, _TIMES = 1 << 14, 1 << 18, 4


def inline(graph: Graph, *, keep: bool = False) -> Graph:
    """The same program without calls; unused nodes are omitted.

    The stateful nodes of a stateful call wait for everything the call waited for; nodes that waited
    for the call wait for all of them.

    Args:
        graph: the program.
        keep: keep a call if the graph would become too large: the function gets its own plan, which
            runs at each call.

    Raises:
        InvalidArgumentError: a function calls itself.
        ResourceExhaustedError: the graph would become too large, and calls must not be kept.
    """
    copy = Copy(GraphBuilder(graph.name))
    copy.inputs(graph)
    sizes = _sizes(graph)
    written = sum(len(one.nodes) for one in sizes)
    most = max(_NODES if keep else _NODES_AT_MOST, _TIMES * written)
    _Inlining(sizes, most, keep).body(graph, copy, "", (), 0)
    copy.outputs(graph)
    return copy.target.finish()


def _sizes(graph: Graph) -> dict[Graph, int]:
    """The numbers of nodes after inlining, for a graph and each function that it calls."""
    sizes: dict[Graph, int] = {}
    inside: set[Graph] = set()
    pending = [graph]
    while pending:
        one = pending[-1]
        if one in sizes:
            pending.pop()
            continue
        inside.add(one)
        called = [node.attrs["f"].graph for node in one.nodes if node.op.runs == "call"]
        missing = [callee for callee in called if callee not in sizes]
        if any(callee in inside for callee in missing):
            message = f"function {one.name!r} calls itself: recursion cannot be run"
            raise InvalidArgumentError(message)
        if missing:
            pending.extend(dict.fromkeys(missing))
            continue
        sizes[one] = len(one.nodes) + sum(sizes[callee] for callee in called)
        inside.discard(one)
        pending.pop()
    return sizes


class _Inlining:
    """The copying of one graph.

    Args:
        sizes: the number of nodes after inlining, by graph.
        most: the most nodes that may be added.
        keep: whether calls are kept if there would be more.
    """

    def __init__(self, sizes: dict[Graph, int], most: int, keep: bool) -> None:
        self._sizes = sizes
        self._left = most
        self._most = most
        self._keep = keep

    def body(
        self, graph: Graph, copy: Copy, prefix: str, before: tuple[Node, ...], depth: int
    ) -> None:
        """Copy a function's nodes; the copy has the values of its arguments already."""
        arguments = {value.node for value in graph.inputs}
        nodes = [node for node in ordered(graph) if node not in arguments]
        self._left -= len(nodes)
        for node in nodes:
            if node.op.runs == "call" and self._fits(node, depth):
                self._call(node, copy, prefix, before, depth)
            else:
                copy.node(node, prefix, before if node.op.stateful else ())

    def _fits(self, call: Node, depth: int) -> bool:
        callee = call.attrs["f"].graph
        if self._sizes[callee] <= self._left and depth < _DEPTH:
            return True
        if not self._keep:
            message = (
                f"the functions that node {call.name!r} calls are {self._sizes[callee]} nodes "
                f"when each call is inlined, and at most {self._most} are allowed"
            )
            raise ResourceExhaustedError(message)
        return False

    def _call(
        self, call: Node, copy: Copy, prefix: str, before: tuple[Node, ...], depth: int
    ) -> None:
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
        self.body(callee, inner, f"{prefix}{call.name}/", waits, depth + 1)
        for result, output in zip(callee.outputs, call.outputs, strict=True):
            copy.values[output] = inner.values[result]
        made = (node for nodes in inner.nodes.values() for node in nodes if node.op.stateful)
        copy.nodes[call] = tuple(dict.fromkeys((*waits, *made)))
