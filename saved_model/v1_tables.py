"""The tables of a main graph: made when they are needed, with what a checkpoint holds of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.build import plan_of
from pinnace.framework import dtypes
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor, wrap
from pinnace.functions.concrete import ConcreteFunction
from pinnace.graph.codec.graphs import decode_graph
from pinnace.graph.codec.references import TRANSLATED
from pinnace.ops.state.table_state import KEYS, VALUES
from pinnace.ops.state.tables import FILLERS, MAKERS
from pinnace.saved_model import layout
from pinnace.saved_model.restore_nodes import calls_function, needed_messages, restored_tables
from pinnace.saved_model.restored import RestoredResource

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.variable import Variable
    from pinnace.graph.codec.functions import FunctionLibrary
    from pinnace.graph.graph import Graph
    from pinnace.proto.node_def_pb2 import NodeDef
    from pinnace.proto.saved_model_pb2 import MetaGraphDef
    from pinnace.storage.bundle import BundleReader

_PASS = frozenset({"Identity", "RefIdentity"})


def makes_table(node: NodeDef) -> bool:
    """Whether a node makes a table, itself or, as TensorFlow 2 writes it, by calling a function."""
    return TRANSLATED.get(node.op, node.op) in MAKERS or (
        calls_function(node)
        and not any(not one.startswith("^") for one in node.input)
        and list(node.attr["Tout"].list.type) == [dtypes.resource.enum]
    )


def fills_table(node: NodeDef) -> bool:
    """Whether a node gives a table its entries."""
    return TRANSLATED.get(node.op, node.op) in FILLERS


class MainGraphTable(RestoredResource):
    """A table of a main graph; it is made when it is first needed, filled when a session would.

    Args:
        make: gives its handle.
        functions: gives the functions to save it with.
    """

    def __init__(
        self, make: Callable[[], Tensor], functions: Callable[[], dict[str, ConcreteFunction]]
    ) -> None:
        super().__init__()
        put: Callable[[Any, str, object], None] = object.__setattr__
        put(self, "_making", (make, functions))

    @property
    def resource_handle(self) -> Tensor:
        """The handle that signatures take."""
        found: Tensor | None = self.__dict__.get("_made_handle")
        if found is None:
            found = self.__dict__["_making"][0]()
            object.__setattr__(self, "_made_handle", found)
        return found

    def _functions_for_saving(self) -> dict[str, ConcreteFunction]:
        functions: dict[str, ConcreteFunction] = self.__dict__["_making"][1]()
        return functions


class MainGraphTables:
    """All tables of a main graph.

    Args:
        meta: the graph.
        where: the file, for errors.
        library: the functions that nodes may call.
        initialiser: the name of the node that runs once after restoring, empty if there is none.
        part: the part of the graph that runs some nodes, under a name, what it captures, and its
            variables.
        checkpoint: gives the values that are stored; None leaves tables empty.
    """

    def __init__(
        self,
        meta: MetaGraphDef,
        where: str,
        library: FunctionLibrary,
        initialiser: Callable[[], str],
        part: Callable[[list[str], str], tuple[Graph, list[Tensor], list[Variable]]],
        checkpoint: Callable[[], BundleReader | None] | None,
    ) -> None:
        self._meta = meta
        self._where = where
        self._library = library
        self._initialiser = initialiser
        self._part = part
        self._checkpoint = checkpoint
        self._nodes: dict[str, NodeDef] = {node.name: node for node in meta.graph_def.node}
        self._tables: dict[tuple[object, ...], MainGraphTable] = {}
        self._stored: dict[str, tuple[str, str]] | None = None

    def all(self) -> list[MainGraphTable]:
        """Every one, in the order of the nodes that make them."""
        for node in self._meta.graph_def.node:
            if makes_table(node):
                self.of(node)
        return list(self._tables.values())

    def of(self, node: NodeDef) -> MainGraphTable:
        """The one table that a node stands for: nodes may share one by its name."""
        key = self._key(node)
        found = self._tables.get(key)
        if found is None:
            found = MainGraphTable(lambda: self._made(node), lambda: self._functions(node, found))
            self._tables[key] = found
        return found

    def _key(self, node: NodeDef) -> tuple[object, ...]:
        shared = node.attr["shared_name"].s if "shared_name" in node.attr else b""
        return (node.attr["container"].s, shared) if shared else (node.name,)

    def _made(self, node: NodeDef) -> Tensor:
        handle = plan_of(self._maker_graph(node))([])[0]
        stored = self._stored_keys().get(self._key(node))
        reader = self._checkpoint() if stored and self._checkpoint else None
        if stored is not None and reader is not None and all(key in reader for key in stored):
            table: Any = np.asarray(handle)[()]
            keys, values = (reader.read(key) for key in stored)
            table.restore_values({KEYS: keys, VALUES: values})
        return wrap(handle, dtypes.resource)

    def _stored_keys(self) -> dict[tuple[object, ...], tuple[str, str]]:
        """Under which keys of the checkpoint the keys and values of each table stand."""
        if self._stored is None:
            self._stored = restored_tables(
                self._nodes, self._library, self._meta.saver_def.restore_op_name, self._where
            )
        found = {}
        for name, stored in self._stored.items():
            node = self._maker(name)
            if node is not None:
                found[self._key(node)] = stored
        return found

    def _maker_graph(self, node: NodeDef) -> Graph:
        name = f"make_{node.name}"
        message = self._meta.graph_def
        return decode_graph(message, self._where, [node.name], name=name, library=self._library)

    def _functions(
        self, node: NodeDef, table: MainGraphTable | None
    ) -> dict[str, ConcreteFunction]:
        """The functions that make and fill a table, so that it can be saved again."""
        graph = self._maker_graph(node)
        made = TensorSpec.of(graph.outputs[0].shape, dtypes.resource)
        functions = {layout.CREATE: ConcreteFunction(graph, [], ((), {}), made, [])}
        fills = [
            one.name
            for one in needed_messages(self._nodes, self._initialiser())
            if fills_table(one) and self._filled_by(one) is table
        ]
        if fills:
            graph, captured, variables = self._part(fills, f"fill_{node.name}")
            functions[layout.INITIALIZE] = ConcreteFunction(
                graph, captured, ((), {}), None, variables
            )
        return functions

    def _filled_by(self, node: NodeDef) -> MainGraphTable | None:
        maker = self._maker(node.input[0]) if node.input else None
        return None if maker is None else self.of(maker)

    def _maker(self, reference: str) -> NodeDef | None:
        """The node that makes the table that a reference means."""
        node = self._nodes.get(reference.partition(":")[0])
        while node is not None and node.op in _PASS and node.input:
            node = self._nodes.get(node.input[0].partition(":")[0])
        return node if node is not None and makes_table(node) else None
