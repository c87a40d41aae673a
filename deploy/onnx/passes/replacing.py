"""The traversal of passes that replace values."""

from collections.abc import Callable
from typing import TypeAlias

from pinnace.deploy.onnx.ir.builder import GraphBuilder, bodies_of
from pinnace.deploy.onnx.ir.graph import Node, Value

# Old value -> its replacement so far.
Places: TypeAlias = dict[Value, Value]


def replace_values(
    g: GraphBuilder,
    change: Callable[[Node, Places], Value | None],
    inside: Callable[[GraphBuilder], None] | None = None,
) -> None:
    """Replace values by others in the order of the graph, then prune it.

    Args:
        g: the graph.
        change: takes a node with its new inputs, adds nodes that compute its output in another way,
            and returns the new value; None keeps the node.
        inside: applied to the bodies of nodes on the way.
    """
    places: Places = {}
    nodes, g.nodes = g.nodes, []
    for node in nodes:
        _follow(node, places)
        for body in bodies_of(node):
            body.replace(places)
            if inside is not None:
                inside(body)
        before = len(g.nodes)
        with g.scope(node.origin):
            made = change(node, places)
        if made is None:
            g.nodes.append(node)
            continue
        for new in g.nodes[before:]:  # they may refer to replaced values
            _follow(new, places)
        made.refine(node.outputs[0].shape)
        places[node.outputs[0]] = made
    g.outputs = [(name, places.get(value, value)) for name, value in g.outputs]
    g.prune()


def _follow(node: Node, places: Places) -> None:
    node.inputs = [None if v is None else places.get(v, v) for v in node.inputs]
