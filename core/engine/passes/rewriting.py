"""Copies a program in which some nodes are left out, or written otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.graph.copying import Copy
from pinnace.graph.graph import GraphBuilder
from pinnace.graph.walk import ordered

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.graph.graph import Graph, Node, Value


def rewritten(graph: Graph, write: Callable[[Node, Copy], Value | None]) -> Graph:
    """The same program, with some of its nodes replaced.

    Args:
        graph: what is copied.
        write: gives the value in the copy that stands for a node, of which the inputs are there; it
            may add nodes. None copies the node. It is the node's only output, if it has one; what
            waits for the node waits for the one that the value is of.
    """
    copy = Copy(GraphBuilder(graph.name))
    copy.inputs(graph)
    arguments = {value.node for value in graph.inputs}
    for node in ordered(graph):
        if node in arguments:
            continue
        found = write(node, copy)
        if found is None:
            copy.node(node)
            continue
        for value in node.outputs:
            copy.values[value] = found
        copy.nodes[node] = (found.node,)
    copy.outputs(graph)
    return copy.target.finish()
