"""The walk of the passes that compute values in another way."""

from collections.abc import Callable
from typing import TypeAlias

from pinnace.deploy.onnx.ir.builder import GraphBuilder, bodies_of
from pinnace.deploy.onnx.ir.graph import Node, Value

# Old value -> what has taken its place so far.
Places: TypeAlias = dict[Value, Value]


def replace_values(
    g: GraphBuilder,
    change: Callable[[Node, Places], Value | None],
    inside: Callable[[GraphBuilder], None] | None = None,
) -> None:
    """Let values take the place of nodes, in the order of the graph; then prune it.

    Args:
        g: the graph.
        change: given a node with its new inputs, adds nodes that compute its output in another way,
            and gives that value; None keeps the node.
        inside: what to do to the bodies of nodes on the way.
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
        for new in g.nodes[before:]:  # they may refer to values that have been replaced
            _follow(new, places)
        made.refine(node.outputs[0].shape)
        places[node.outputs[0]] = made
    g.outputs = [(name, places.get(value, value)) for name, value in g.outputs]
    g.prune()


def _follow(node: Node, places: Places) -> None:
    node.inputs = [None if v is None else places.get(v, v) for v in node.inputs]
