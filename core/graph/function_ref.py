"""References to functions: the values of `func` attributes, each a name with a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.graph.graph import Graph, Node


class FunctionRef:
    """The value of a `func` attribute: a function's name and graph, which is decoded on demand."""

    __slots__ = ("_graph", "name")

    def __init__(self, name: str, graph: Graph | Callable[[], Graph]) -> None:
        self.name = name
        self._graph = graph

    @property
    def graph(self) -> Graph:
        """The function's graph, decoded on first use."""
        if callable(self._graph):
            self._graph = self._graph()
        return self._graph

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FunctionRef) and self.name == other.name and self.graph is other.graph
        )

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<function {self.name!r}>"


def functions_of(node: Node) -> list[FunctionRef]:
    """The functions that a node refers to."""
    return [
        ref
        for attr in node.attrs.values()
        for ref in (attr if isinstance(attr, tuple) else (attr,))
        if isinstance(ref, FunctionRef)
    ]
