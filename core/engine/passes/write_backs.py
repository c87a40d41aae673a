"""Leaves out assignments that write back what was just read from the same variable.

Keras on JAX exports a stateless function of all variables, and assigns its results to them: in
inference, what it was given. A variable that is assigned to is not a weight: each call would
compute the scale of each batch norm again, and nothing would be folded into the convolution before
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.passes.rewriting import rewritten
from pinnace.engine.steps import changes_nothing
from pinnace.ops.state.variables import ASSIGN_VARIABLE, READ_VARIABLE

if TYPE_CHECKING:
    from pinnace.graph.graph import Graph, Node


def without_write_backs(graph: Graph) -> Graph:
    """The same program without these assignments, if it has no other effects.

    Two handles may refer to one variable, which another effect could change after the read.

    Args:
        graph: the program, with calls inlined.
    """
    changing = [node for node in graph.nodes if not changes_nothing(node)]
    if not changing or not all(map(_writes_back, changing)):
        return graph
    return rewritten(
        graph, lambda node, copy: copy.values[node.inputs[1]] if _writes_back(node) else None
    )


def _writes_back(node: Node) -> bool:
    if node.op is not ASSIGN_VARIABLE:
        return False
    handle, value = node.inputs
    return value.node.op is READ_VARIABLE and value.node.inputs[0] is handle
