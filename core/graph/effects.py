"""The side effects of running a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.graph.graph import FunctionRef
from pinnace.graph.walk import ordered, root_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.graph.graph import Graph, Node


def is_pure(graph: Graph) -> bool:
    """Whether running a graph changes nothing and depends on nothing but inputs and variables.

    The graphs of its conditions, loops and calls count as part of it.
    """
    for node, called in _nodes(graph):
        # An op that calls functions has their effects.
        is_harmless = node.op.effect in (None, "read") or node.op.name == "Assert"
        if not is_harmless and not called:
            return False
    return True


def written_inputs(graph: Graph) -> frozenset[int] | None:
    """The places of the inputs whose resource a run may change.

    A call of a function that writes counts for all resources passed to it.

    Returns:
        None if a run may also change anything that is not among its inputs.
    """
    places = {value: place for place, value in enumerate(graph.inputs)}
    found: set[int] = set()
    for node in ordered(graph):
        if node.op.traceless:
            continue
        called = _called(node)
        if called:
            if not any(_writes(one) for one in called):
                continue
        elif node.op.effect != "write":
            continue
        roots = [root_of(value) for value in node.inputs if value.dtype is dtypes.resource]
        if not roots or any(root not in places for root in roots):
            return None
        found.update(places[root] for root in roots)
    return frozenset(found)


def _writes(graph: Graph) -> bool:
    return any(
        node.op.effect == "write" and not node.op.traceless and not called
        for node, called in _nodes(graph)
    )


def has_loops(graph: Graph) -> bool:
    """Whether the duration of a graph depends on values through loops only."""
    return any(node.op.runs == "loop" for node, _ in _nodes(graph))


def _nodes(graph: Graph) -> Iterator[tuple[Node, list[Graph]]]:
    """The nodes of a graph and of all graphs it calls, each with the graphs it calls directly."""
    seen: set[int] = set()
    waiting = [graph]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        for node in ordered(current):
            calls = _called(node)
            yield node, calls
            waiting += calls


def _called(node: Node) -> list[Graph]:
    """The graphs of a node's function attributes."""
    calls = [value.graph for value in node.attrs.values() if isinstance(value, FunctionRef)]
    for value in node.attrs.values():
        if isinstance(value, tuple):
            calls += [item.graph for item in value if isinstance(item, FunctionRef)]
    return calls
