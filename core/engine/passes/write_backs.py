"""Leaves out assignments that write back what was just read from the same variable.

Keras on JAX exports a stateless function of all variables, and assigns to each what the function
gives back: for inference, what it was given. A variable that is assigned to is no weight, so that
the scale of each batch norm would be computed again for each call, and nothing be folded into the
convolution before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.graph.copying import Copy
from pinnace.graph.graph import GraphBuilder
from pinnace.graph.walk import ordered
from pinnace.ops.state.variables import ASSIGN_VARIABLE, READ_VARIABLE

if TYPE_CHECKING:
    from pinnace.graph.graph import Graph, Node


def without_write_backs(graph: Graph) -> Graph:
    """The same program without these assignments, if it changes nothing else.

    Two handles may be of one variable: another change could come between a read and its assignment.

    Args:
        graph: calls inlined.
    """
    changing = [node for node in graph.nodes if _changes(node)]
    if not changing or not all(map(_writes_back, changing)):
        return graph
    copy = Copy(GraphBuilder(graph.name))
    copy.inputs(graph)
    arguments = {value.node for value in graph.inputs}
    for node in ordered(graph):
        if _writes_back(node):
            # What waits for the assignment waits for the read.
            copy.nodes[node] = (copy.values[node.inputs[1]].node,)
        elif node not in arguments:
            copy.node(node)
    copy.outputs(graph)
    return copy.target.finish()


def _changes(node: Node) -> bool:
    op = node.op
    return op.effect not in {None, "read"} and (not op.traceless or bool(op.reaches))


def _writes_back(node: Node) -> bool:
    if node.op is not ASSIGN_VARIABLE:
        return False
    handle, value = node.inputs
    return value.node.op is READ_VARIABLE and value.node.inputs[0] is handle
