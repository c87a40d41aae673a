"""Resources of a main graph besides variables: tables, trees, iterators.

Each is created on first use, and restored from the checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.build import plan_of
from pinnace.framework import dtypes
from pinnace.framework.shapes import SCALAR
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor, wrap
from pinnace.functions.concrete import ConcreteFunction
from pinnace.functions.tracing import trace
from pinnace.graph.codec.graphs import decode_graph
from pinnace.graph.codec.references import TRANSLATED
from pinnace.ops import registry
from pinnace.ops.dataset import handles, iterators
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.state import tables
from pinnace.ops.trees import boosted, quantiles
from pinnace.saved_model import layout
from pinnace.saved_model.restore_nodes import (
    StoredResource,
    calls_function,
    needed_messages,
    restored_resources,
)
from pinnace.saved_model.restored import RestoredResource

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array
    from pinnace.framework.variable import Variable
    from pinnace.graph.codec.functions import FunctionLibrary
    from pinnace.graph.graph import FunctionRef, Graph
    from pinnace.ops.opdef import OpDef
    from pinnace.proto.node_def_pb2 import NodeDef
    from pinnace.proto.saved_model_pb2 import MetaGraphDef
    from pinnace.storage.bundle import BundleReader

_PASS = frozenset({"Identity", "RefIdentity"})
# Ops that make resources other than variables, whose handles signatures use.
_BY_NAME = tables.MAKERS | {boosted.HANDLE.name, quantiles.HANDLE.name}
_MAKERS = _BY_NAME | handles.MAKERS
_FILLERS = tables.FILLERS | {
    op.name for family in (boosted, quantiles) for op in (family.CREATE, family.DESERIALIZE)
}
# The index of the handle among the inputs, where it is not 0.
_HANDLE_PLACE = {handles.FILLER: 1}


def _op_of(node: NodeDef) -> str:
    return TRANSLATED.get(node.op, node.op)


def makes_resource(node: NodeDef) -> bool:
    """Whether a node makes a resource, itself or, as TensorFlow 2 writes it, by a function."""
    return _op_of(node) in _MAKERS or (
        calls_function(node)
        and not any(not one.startswith("^") for one in node.input)
        and list(node.attr["Tout"].list.type) == [dtypes.resource.enum]
    )


def makes_named(node: NodeDef) -> bool:
    """Whether a node with a shared name makes a resource that others may refer to by it."""
    return _op_of(node) in _BY_NAME


def fills_resource(node: NodeDef) -> bool:
    """Whether a node fills a resource."""
    return _op_of(node) in _FILLERS


@dataclass(frozen=True, slots=True)
class _Stored:
    """The stored values of a resource, and the op that restores them."""

    op: OpDef
    values: Sequence[Array]

    def run(self, handle: Tensor) -> None:
        """Restore the values into the resource of a handle."""
        tensors = [
            wrap(np.asarray(value), dtype)
            for value, dtype in zip(self.values, self._dtypes(), strict=True)
        ]
        execute(self.op, handle, *([tensors] if self.op.inputs[1].is_list else tensors))

    def _dtypes(self) -> list[DType]:
        return [dtypes.as_dtype(one.dtype) for one in self.values]


class MainGraphResource(RestoredResource):
    """A resource of a main graph; created on first use, filled when a session would.

    Args:
        make: creates its handle.
        functions: creates the functions to save it with.
    """

    def __init__(
        self, make: Callable[[], Tensor], functions: Callable[[], dict[str, ConcreteFunction]]
    ) -> None:
        super().__init__()
        put: Callable[[Any, str, object], None] = object.__setattr__
        put(self, "_making", (make, functions))

    @property
    def resource_handle(self) -> Tensor:
        """The handle that signatures capture."""
        found: Tensor | None = self.__dict__.get("_made_handle")
        if found is None:
            found = self.__dict__["_making"][0]()
            object.__setattr__(self, "_made_handle", found)
        return found

    def _functions_for_saving(self) -> dict[str, ConcreteFunction]:
        functions: dict[str, ConcreteFunction] = self.__dict__["_making"][1]()
        return functions


class MainGraphResources:
    """All resources of a main graph.

    Args:
        meta: the graph.
        where: the file, for errors.
        library: the functions that nodes may call.
        initialisers: returns the names of the nodes that run once after restoring.
        part: returns the part of the graph that runs some nodes, under a name, and the tensors and
            variables that it captures.
        checkpoint: returns the stored values; None leaves resources empty.
    """

    def __init__(
        self,
        meta: MetaGraphDef,
        where: str,
        library: FunctionLibrary,
        initialisers: Callable[[], list[str]],
        part: Callable[[list[str], str], tuple[Graph, list[Tensor], list[Variable]]],
        checkpoint: Callable[[], BundleReader | None] | None,
    ) -> None:
        self._meta = meta
        self._where = where
        self._library = library
        self._initialisers = initialisers
        self._part = part
        self._checkpoint = checkpoint
        self._nodes: dict[str, NodeDef] = {node.name: node for node in meta.graph_def.node}
        self._found: dict[tuple[object, ...], MainGraphResource] = {}
        self._stored: dict[str, StoredResource] | None = None

    def all(self) -> list[MainGraphResource]:
        """All resources, in the order of the nodes that make them."""
        for node in self._meta.graph_def.node:
            if makes_resource(node):
                self.of(node)
        return list(self._found.values())

    def of(self, node: NodeDef) -> MainGraphResource:
        """Return a node's resource; nodes may share one by name."""
        key = self._key(node)
        found = self._found.get(key)
        if found is None:
            found = MainGraphResource(
                lambda: self._made(node), lambda: self._functions(node, found)
            )
            self._found[key] = found
        return found

    def _key(self, node: NodeDef) -> tuple[object, ...]:
        shared = node.attr["shared_name"].s if "shared_name" in node.attr else b""
        kind = _op_of(node)
        return (kind, node.attr["container"].s, shared) if shared else (node.name,)

    def _made(self, node: NodeDef) -> Tensor:
        handle = wrap(plan_of(self._maker_graph(node))([])[0], dtypes.resource)
        stored = self._stored_values(node)
        if stored is not None:
            stored.run(handle)
        return handle

    def _stored_values(self, node: NodeDef) -> _Stored | None:
        """The stored values of a resource, if the checkpoint has all of them."""
        found = self._stored_keys().get(self._key(node))
        reader = self._checkpoint() if found and self._checkpoint else None
        if found is None or reader is None or any(key not in reader for key in found.keys):
            return None
        op = registry.lookup(TRANSLATED.get(found.op, found.op))
        return _Stored(op, [reader.read(key) for key in found.keys])

    def _stored_keys(self) -> dict[tuple[object, ...], StoredResource]:
        """The keys of the values of each resource in the checkpoint."""
        if self._stored is None:
            self._stored = restored_resources(
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
        self, node: NodeDef, table: MainGraphResource | None
    ) -> dict[str, ConcreteFunction]:
        """The functions that create and fill a resource, so that it can be saved again."""
        graph = self._maker_graph(node)
        if table is not None and _op_of(node) == handles.ONE_SHOT.name:
            return _one_shot_functions(graph, table)
        made = TensorSpec.of(graph.outputs[0].shape, dtypes.resource)
        functions = {layout.CREATE: ConcreteFunction(graph, [], ((), {}), made, [])}
        stored = self._stored_values(node)
        if stored is not None and table is not None and not _keeps_values(table):
            # An object-based checkpoint has no place for them: they become constants of a function.
            fill, _ = trace(lambda: stored.run(table.resource_handle), (), {}, f"fill_{node.name}")
            functions[layout.INITIALIZE] = fill
            return functions
        fills = [
            one.name
            for one in needed_messages(self._nodes, *self._initialisers())
            if (fills_resource(one) or one.op == handles.FILLER) and self._filled_by(one) is table
        ]
        if fills:
            graph, captured, variables = self._part(fills, f"fill_{node.name}")
            functions[layout.INITIALIZE] = ConcreteFunction(
                graph, captured, ((), {}), None, variables
            )
        return functions

    def _filled_by(self, node: NodeDef) -> MainGraphResource | None:
        place = _HANDLE_PLACE.get(node.op, 0)
        maker = self._maker(node.input[place]) if len(node.input) > place else None
        return None if maker is None else self.of(maker)

    def _maker(self, reference: str) -> NodeDef | None:
        """The node that makes the resource of a reference, or None."""
        node = self._nodes.get(reference.partition(":")[0])
        while node is not None and node.op in _PASS and node.input:
            node = self._nodes.get(node.input[0].partition(":")[0])
        return node if node is not None and makes_resource(node) else None


def _keeps_values(one: MainGraphResource) -> bool:
    """Whether an object-based checkpoint holds its contents."""
    return hasattr(one._resource(), "stored_values")


def _one_shot_functions(maker: Graph, one: MainGraphResource) -> dict[str, ConcreteFunction]:
    """The functions of a OneShotIterator, as an iterator that an initialiser gives its dataset.

    TensorFlow gives the resources of a function names, and its OneShotIterator takes none.
    """
    (node,) = (one for one in maker.nodes if one.op is handles.ONE_SHOT)
    factory: FunctionRef = node.attrs["dataset_factory"]
    kinds = {name: node.attrs[name] for name in ("output_types", "output_shapes")}
    variant = TensorSpec.of(SCALAR, dtypes.variant)
    dataset = ConcreteFunction(factory.graph, [], ((), {}), variant, [])

    def create() -> Tensor:
        return execute_one(iterators.ANONYMOUS_ITERATOR, **kinds)

    def initialise() -> None:
        execute(iterators.MAKE_ITERATOR, dataset(), one.resource_handle)

    return {
        layout.CREATE: trace(create, (), {}, f"make_{node.name}")[0],
        layout.INITIALIZE: trace(initialise, (), {}, f"fill_{node.name}")[0],
    }
