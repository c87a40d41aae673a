"""Outputs that depend on random numbers, which differ from run to run."""

from collections.abc import Iterator

from pinnace.graph.graph import FunctionRef, Graph, Node, Value
from pinnace.graph.walk import ordered


def drawn_outputs(graph: Graph) -> tuple[str, ...]:
    """The names of the outputs that depend on random numbers."""
    drawn: set[Value] = set()
    for node in ordered(graph):
        if _draws(node) or any(value in drawn for value in node.inputs):
            drawn.update(node.outputs)
    named = zip(graph.output_names, graph.outputs, strict=True)
    return tuple(name for name, value in named if value in drawn)


def _draws(node: Node) -> bool:
    return node.op.effect == "random" or any(
        _draws(inner) for graph in _functions(node) for inner in ordered(graph)
    )


def _functions(node: Node) -> Iterator[Graph]:
    for attr in node.attrs.values():
        for ref in attr if isinstance(attr, tuple) else (attr,):
            if isinstance(ref, FunctionRef):
                yield ref.graph
