"""Graphs that programs build directly, as in version 1: `Graph` and the default graph."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import name_scope, state
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.functions.tracer import FunctionTracer
from pinnace.graph import graph as data
from pinnace.ops.array.constants import CONST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.graph.graph import Value


class _Graphs(type):
    """The metaclass by which graphs of functions count as instances of `Graph`."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, (data.Graph, data.GraphBuilder))


class Graph(data.GraphBuilder, metaclass=_Graphs):
    """A graph to which ops are added inside `with graph.as_default():`, and which can be read.

    It is not callable: `compat.v1.wrap_function` with `prune`, or `import_graph_def` in a
    `function`, make a function of it. `isinstance(x, Graph)` also holds for the graphs of
    functions.
    """

    def __init__(self) -> None:
        super().__init__("graph")
        self.seed: int | None = None
        self._tracer = _GraphTracer("graph", graph=self)
        self._collections: dict[str, list[Any]] = {}
        self._is_finalized = False

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Adds the ops of the block to this graph."""
        saved = state.tracer, state.tapes, state.scope
        state.tracer, state.tapes, state.scope = self._tracer, (), ""
        try:
            yield self
        finally:
            state.tracer, state.tapes, state.scope = saved

    @property
    def building_function(self) -> bool:
        """False: it is not the graph of a function."""
        return False

    @property
    def finalized(self) -> bool:
        """Whether the graph can no longer be changed."""
        return self._is_finalized

    def finalize(self) -> None:
        """Make the graph immutable."""
        self._is_finalized = True

    def name_scope(self, name: str) -> contextlib.AbstractContextManager[str]:
        """Names nodes created inside the block `name/...`."""
        return name_scope(name)

    @property
    def collections(self) -> list[str]:
        """The names of the collections."""
        return list(self._collections)

    def get_all_collection_keys(self) -> list[str]:
        """The names of the collections."""
        return list(self._collections)

    def add_to_collection(self, name: str, value: Any) -> None:
        """Add a value to the collection of that name."""
        self.get_collection_ref(name).append(value)

    def add_to_collections(self, names: str | list[str], value: Any) -> None:
        """Add a value to each of the collections."""
        for name in [names] if isinstance(names, str) else names:
            self.add_to_collection(name, value)

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        """The values of a collection.

        Args:
            name: name of the collection.
            scope: only those whose name begins with it.
        """
        found = self._collections.get(name, [])
        if scope is None:
            return list(found)
        return [one for one in found if getattr(one, "name", "").startswith(scope)]

    def get_collection_ref(self, name: str) -> list[Any]:
        """The collection itself, so that changes of the list affect it."""
        return self._collections.setdefault(name, [])

    def clear_collection(self, name: str) -> None:
        """Delete a collection."""
        self._collections.pop(name, None)


class _GraphTracer(FunctionTracer):
    """Adds ops to a `Graph`; eager values become constants."""

    graph: Graph

    def add(
        self, op: object, arguments: Any, attrs: dict[str, object], name: str | None
    ) -> tuple[Tensor, ...]:
        """The outputs of a new node."""
        if self.graph.finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        return super().add(op, arguments, attrs, name)

    def capture(self, tensor: Tensor) -> Value:
        """An eager tensor as a constant; variables and tables are refused."""
        if isinstance(tensor, SymbolicTensor) or tensor.dtype is dtypes.resource:
            raise UnimplementedError(
                f"Graph: {tensor!r} is from outside of the graph: there are no sessions, which "
                "would hold the values of a graph's variables and tables\n"
                "  Try: a `function`, or compat.v1.wrap_function"
            )
        known = self.captures.get(id(tensor))
        if known is None:
            attrs = {"value": np.asarray(tensor._array), "dtype": tensor.dtype}
            known = (tensor, self.graph.add(CONST, (), attrs, "Const").outputs[0])
            self.captures[id(tensor)] = known
        return known[1]


_default: list[Graph] = []


def tracer_here() -> Any:
    """The tracer to which ops are added; None in eager mode."""
    return state.tracer


def get_default_graph() -> Any:
    """The graph to which ops are added; outside of all, one global graph."""
    if state.tracer is not None:
        return state.tracer.graph
    if not _default:
        _default.append(Graph())
    return _default[0]


def reset_default_graph() -> None:
    """Replace the process's default graph by a new one.

    Raises:
        AssertionError: inside a graph; TensorFlow's class.
    """
    if state.tracer is not None:
        raise AssertionError("Do not use reset_default_graph() to clear nested graphs.")
    _default.clear()


class Session:
    """Raises an error: there are no sessions.

    Args:
        *args: whatever TensorFlow's takes.
        **options: likewise.

    Raises:
        UnimplementedError: always.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self._refuse(len(args) + len(options))

    @staticmethod
    def _refuse(_: int) -> NoReturn:
        raise UnimplementedError(
            "Session: there are no TensorFlow-1 sessions\n"
            "  Try: compat.v1.wrap_function(build, []).prune(feeds, fetches), which gives a "
            "function of the feeds; saved_model.load for a SavedModel of version 1"
        )
