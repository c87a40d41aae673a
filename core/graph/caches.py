"""Results memoised per graph: plans, gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from pinnace.graph.graph import Graph

T = TypeVar("T")


class PerGraph(Generic[T]):
    """A cache of one entry per graph, which dies with the graph.

    Entries are stored on their graphs, not in a `WeakKeyDictionary`, which keeps its values alive:
    a plan may refer to a Python function (of `py_function`), that to its model, and that to the
    graph, so that none of them would ever be freed.
    """

    def get(self, graph: Graph) -> T | None:
        """The entry of a graph; None if there is none."""
        entry: T | None = graph.cached.get(self)
        return entry

    def keep(self, graph: Graph, entry: T) -> T:
        """Set a graph's entry."""
        graph.cached[self] = entry
        return entry

    def drop(self, graph: Graph) -> None:
        """Delete a graph's entry, if there is one."""
        graph.cached.pop(self, None)
