"""Copies a program, with some nodes left out or replaced."""

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
        graph: the program to copy.
        write: returns the value in the copy that replaces a node's output, if it has one; the copy
            has the node's inputs, and nodes may be added. None copies the node. What waited for the
            node waits for the node of that value.
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
