"""SavedModels without objects, as TensorFlow 1 wrote them: main graph and signatures.

A signature becomes the part of the main graph between its inputs and outputs. What has state there
(variables, tables) is made once for the model and handed to every signature as a capture.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.build import plan_of
from pinnace.framework import dtypes
from pinnace.framework.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    UnimplementedError,
)
from pinnace.framework.shapes import SCALAR, UNKNOWN
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array, Tensor, wrap
from pinnace.framework.variable import Variable
from pinnace.functions.concrete import ConcreteFunction
from pinnace.graph.codec.attrs import decode_attr
from pinnace.graph.codec.functions import FunctionLibrary
from pinnace.graph.codec.graphs import add_argument, decode_graph
from pinnace.ops.state.variables import READ_VARIABLE
from pinnace.saved_model import layout
from pinnace.saved_model.assets import named_assets, resolve_asset
from pinnace.saved_model.codecs.signatures import decode_signature
from pinnace.saved_model.restore_nodes import Source, needed_messages, restored_sources
from pinnace.saved_model.restored import (
    LazyConcrete,
    RestoredObject,
    RestoredResource,
    SignatureMap,
)
from pinnace.storage.bundle import BundleReader, index_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pinnace.graph.graph import Graph, Value
    from pinnace.proto.node_def_pb2 import NodeDef
    from pinnace.proto.saved_model_pb2 import MetaGraphDef
    from pinnace.saved_model.options import LoadOptions

# The ops that hold the value of a variable: by a handle, or by reference.
_HANDLES = frozenset({"VarHandleOp"})
_REFERENCES = frozenset({"VariableV2", "Variable"})
_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
# The ops that make a table; each is made once.
_TABLES = frozenset(
    {
        "HashTableV2",
        "HashTable",
        "MutableHashTableV2",
        "MutableHashTable",
        "MutableDenseHashTableV2",
        "MutableHashTableOfTensorsV2",
    }
)


# The ops that fill a table.
_FILLS = frozenset(
    {
        "InitializeTable",
        "InitializeTableFromTextFile",
        "InitializeTableFromTextFileV2",
        "InitializeTableV2",
        "LookupTableImport",
        "LookupTableImportV2",
        "LookupTableInsert",
        "LookupTableInsertV2",
    }
)


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


def load_main_graph(folder: Path, meta: MetaGraphDef, options: LoadOptions) -> RestoredObject:
    """The signatures of a model that has no objects.

    Args:
        folder: the model.
        meta: its graph.
        options: see `LoadOptions`.

    Returns:
        An object with `signatures`, `variables` and `graph_debug_info`.
    """
    return _MainGraph(folder, meta, options).load()


class _MainGraph:
    """The main graph of one model, and what in it has state."""

    def __init__(self, folder: Path, meta: MetaGraphDef, options: LoadOptions) -> None:
        self._folder = folder
        self._meta = meta
        self._options = options
        self._where = str(layout.model_path(folder))
        self._nodes: dict[str, NodeDef] = {node.name: node for node in meta.graph_def.node}
        self._library = FunctionLibrary(
            meta.graph_def.library.function,
            self._where,
            meta.meta_info_def.stripped_op_list.op,
            allow_io=options.allow_io,
        )
        self._variables: dict[str, Variable] = {}
        self._tables: dict[tuple[object, ...], MainGraphTable] = {}
        self._assets = {
            asset.tensor_info.name.partition(":")[0]: resolve_asset(
                folder, asset.filename, self._where, allow_links=options.allow_io
            )
            for asset in named_assets(meta)
        }
        self._reader: BundleReader | None = None
        self._initialised = False
        self._refused: UnimplementedError | None = None

    def load(self) -> RestoredObject:
        root = RestoredObject()
        self._make_variables()
        signatures = {}
        for name in sorted(self._meta.signature_def):
            if name not in (layout.INIT_SIGNATURE, layout.TRAIN_SIGNATURE):
                signatures[name] = self._lazy(name)
        put: Callable[[Any, str, object], None] = object.__setattr__
        signature_map = SignatureMap(signatures)
        put(root, layout.SIGNATURES, signature_map)
        root._track(layout.SIGNATURES, signature_map)
        root.variables = list(self._variables.values())
        # TensorFlow's name for them. Saved again, they are objects that the signatures capture.
        root.asset_paths = list(self._assets.values())
        root.tables = self._all_tables()
        if self._assets:
            # Now, since the folder may be another model later; what fails says so when it is used.
            with contextlib.suppress(OpError):
                self._initialise()
        put(root, "tensorflow_version", self._meta.meta_info_def.tensorflow_version)
        put(root, "tensorflow_git_version", self._meta.meta_info_def.tensorflow_git_version)
        return root

    # Signatures.

    def _lazy(self, name: str) -> LazyConcrete:
        message = self._meta.signature_def[name]
        where = f"{self._where}: signature {name!r}"

        def arguments() -> Any:
            inputs = decode_signature(message, where).inputs
            return (), {key: tensor.spec.with_name(key) for key, tensor in inputs.items()}

        return LazyConcrete(name, arguments, lambda: self._signature(name))

    def _signature(self, name: str) -> ConcreteFunction:
        self._initialise()
        where = f"{self._where}: signature {name!r}"
        found = decode_signature(self._meta.signature_def[name], where)
        inputs = [(tensor.reference, key, tensor.spec) for key, tensor in found.inputs.items()]
        outputs = [tensor.reference for tensor in found.outputs.values()]
        graph, captured, variables = self._part(inputs, outputs, [])
        graph.name = f"signature_{name}"
        graph.output_names = list(found.outputs)
        for (key, tensor), value in zip(found.outputs.items(), graph.outputs, strict=True):
            if tensor.dtype is not value.dtype:
                raise InvalidArgumentError(
                    f"{where}: output {key!r} is declared {tensor.dtype.name}, the graph has "
                    f"{value.spec.text}"
                )
        return ConcreteFunction(
            graph,
            captured,
            ((), {key: tensor.spec.with_name(key) for key, tensor in found.inputs.items()}),
            {key: tensor.spec.with_name(key) for key, tensor in found.outputs.items()},
            variables,
            by_name=True,
        )

    def _part(
        self,
        inputs: list[tuple[str, str, TensorSpec]],
        outputs: list[str],
        effects: list[str],
    ) -> tuple[Graph, list[Tensor], list[Variable]]:
        """A part of the graph, the tensors it captures, the variables among them."""
        captured: list[Tensor] = []
        variables: list[Variable] = []
        handles: dict[str, Value] = {}

        def capture(graph: Graph, name: str, tensor: Tensor, handle: TensorSpec | None) -> Value:
            value = add_argument(graph, TensorSpec.of(tensor.shape, tensor.dtype), name, handle)
            captured.append(tensor)
            return value

        def given(graph: Graph, node: NodeDef, position: int) -> Value | None:
            if position:
                return None
            variable = self._variables.get(node.name)
            if variable is not None:
                value = handles.get(node.name)
                if value is None:
                    spec = TensorSpec.of(variable.shape, variable.dtype)
                    value = capture(graph, node.name, variable.handle, spec)
                    handles[node.name] = value
                    variables.append(variable)
                if node.op in _HANDLES:
                    return value
                # A reference is as good as its value: nothing here assigns to it.
                read = graph.add(READ_VARIABLE, [value], {"dtype": variable.dtype}, node.name)
                return read.outputs[0]
            if node.op in _TABLES or _makes_table(node):
                return capture(graph, node.name, self._table(node).resource_handle, None)
            if node.name in self._assets:
                return capture(graph, node.name, self._assets[node.name].asset_path, None)
            return None

        graph = decode_graph(
            self._meta.graph_def,
            self._where,
            outputs,
            inputs=inputs,
            effects=effects,
            library=self._library,
            given=given,
        )
        return graph, captured, variables

    # What has state.

    def _initialise(self) -> None:
        """Run what a session runs once after restoring: tables are filled."""
        name = None if self._initialised else self._initialiser()
        if name is None:
            return
        try:
            graph, captured, _ = self._part([], [], [name])
            if graph.effects:
                plan_of(graph)([np.asarray(tensor._array) for tensor in captured])
        except UnimplementedError as error:
            # Signatures without tables can do without; those with one are told why they cannot.
            self._refused = error
        self._initialised = True

    def _initialiser(self) -> str | None:
        meta = self._meta
        if layout.INIT_SIGNATURE in meta.signature_def:
            outputs = meta.signature_def[layout.INIT_SIGNATURE].outputs
            if layout.INIT_SIGNATURE in outputs:
                return outputs[layout.INIT_SIGNATURE].name.partition(":")[0]
        for collection in (layout.INIT_COLLECTION, layout.LEGACY_INIT_COLLECTION):
            if collection in meta.collection_def:
                names = list(meta.collection_def[collection].node_list.value)
                if names:
                    return names[0].partition(":")[0]
        return None

    def _all_tables(self) -> list[MainGraphTable]:
        for node in self._meta.graph_def.node:
            if node.op in _TABLES or _makes_table(node):
                self._table(node)
        return list(self._tables.values())

    def _table(self, node: NodeDef) -> MainGraphTable:
        """The one table of this model that a node stands for: nodes may share one by its name."""
        shared = node.attr["shared_name"].s if "shared_name" in node.attr else b""
        key = (node.attr["container"].s, shared) if shared else (node.name,)
        found = self._tables.get(key)
        if found is None:
            found = MainGraphTable(
                lambda: self._made_table(node), lambda: self._table_functions(node, found)
            )
            self._tables[key] = found
        return found

    def _made_table(self, node: NodeDef) -> Tensor:
        if self._refused is not None:
            raise self._refused
        graph = self._table_graph(node)
        return wrap(plan_of(graph)([])[0], dtypes.resource)

    def _table_graph(self, node: NodeDef) -> Graph:
        return decode_graph(self._meta.graph_def, self._where, [node.name], library=self._library)

    def _table_functions(
        self, node: NodeDef, table: MainGraphTable | None
    ) -> dict[str, ConcreteFunction]:
        """What makes a table and what fills it, so that it can be saved again."""
        graph = self._table_graph(node)
        graph.name = f"make_{node.name}"
        made = TensorSpec.of(graph.outputs[0].shape, dtypes.resource)
        functions = {layout.CREATE: ConcreteFunction(graph, [], ((), {}), made, [])}
        fills = [
            one.name
            for one in needed_messages(self._nodes, self._initialiser() or "")
            if one.op in _FILLS and self._table_of(one.input[0] if one.input else "") is table
        ]
        if fills:
            graph, captured, variables = self._part([], [], fills)
            graph.name = f"fill_{node.name}"
            functions[layout.INITIALIZE] = ConcreteFunction(
                graph, captured, ((), {}), None, variables
            )
        return functions

    def _table_of(self, reference: str) -> MainGraphTable | None:
        node = self._nodes.get(reference.partition(":")[0])
        while node is not None and node.op == "Identity" and node.input:
            node = self._nodes.get(node.input[0].partition(":")[0])
        makes = node is not None and (node.op in _TABLES or _makes_table(node))
        return self._table(node) if makes else None  # type: ignore[arg-type]  # it makes one

    def _make_variables(self) -> None:
        """A variable per node that holds one; its value is read from the checkpoint when needed."""
        sources = None
        for node in self._meta.graph_def.node:
            if node.op not in _HANDLES and node.op not in _REFERENCES:
                continue
            where = f"{self._where}: node {node.name!r}"
            dtype = decode_attr(node.attr["dtype"], "type", where, self._library.ref)
            shape = UNKNOWN
            if "shape" in node.attr:
                shape = decode_attr(node.attr["shape"], "shape", where, self._library.ref)
            if node.op in _REFERENCES and shape == SCALAR:
                shape = UNKNOWN  # TensorFlow 1: a shape that is unknown was written as none at all
            variable = Variable.uninitialized(dtype, shape, node.name, trainable=True)
            if sources is None:
                sources = self._sources()
            source = sources.get(node.name)
            if source is not None and not self._options.experimental_skip_checkpoint:
                self._attach(variable, source)
            self._variables[node.name] = variable

    def _attach(self, variable: Variable, source: Source) -> None:
        reader = self._checkpoint()
        if reader is None:
            return
        where = index_path(reader.prefix)
        if source.key not in reader:
            if self._options.allow_partial_checkpoint:
                return
            raise NotFoundError(f"{where} has no value {source.key!r} for node {variable.name!r}")
        entry = reader.entry(source.key)
        fits = source.part or variable.shape.is_compatible_with(entry.shape)
        if entry.dtype is not variable.dtype or not fits:
            raise DataLossError(
                f"{where}: variable {variable.name!r} is {variable.dtype.name}"
                f"{variable.shape.text}, its value {source.key!r} is {entry.dtype.name}"
                f"{list(entry.shape)}"
            )
        reader.check_present(source.key)

        def read() -> Array:
            value = reader.read(source.key)
            value = value[_box(source.part, value.shape, where)] if source.part else value.view()
            value.flags.writeable = False
            return value

        variable.resource.source = read

    def _checkpoint(self) -> BundleReader | None:
        if self._reader is None:
            prefix = layout.variables_prefix(self._folder)
            # TensorFlow: without a checkpoint there is nothing to restore, if nothing says so.
            if self._meta.HasField("saver_def") or prefix.with_suffix(".index").exists():
                self._reader = BundleReader(prefix)
                if self._options.verify:
                    self._reader.verify_all()
        return self._reader

    def _sources(self) -> dict[str, Source]:
        """Which value each variable is restored from, as the nodes that restore it tell."""
        found = restored_sources(
            self._nodes, self._library, self._meta.saver_def.restore_op_name, self._where
        )
        reader = self._checkpoint()
        if reader is not None:
            for name, node in self._nodes.items():
                if node.op in _HANDLES or node.op in _REFERENCES:
                    named = "shared_name" in node.attr
                    shared = node.attr["shared_name"].s.decode(errors="replace") if named else ""
                    for key in (shared, name):
                        if key and key in reader:
                            found.setdefault(name, Source(key))
        return found


def _makes_table(node: NodeDef) -> bool:
    """Whether it calls a function that makes a table, as TensorFlow 2 writes it."""
    return (
        node.op in _CALLS
        and not any(not one.startswith("^") for one in node.input)
        and list(node.attr["Tout"].list.type) == [dtypes.resource.enum]
    )


def _box(text: str, shape: tuple[int, ...], where: str) -> tuple[slice, ...]:
    """The part of a value that `sizes start,length:start,length` means; `-` is a whole axis."""
    ranges = text.split(" ")[-1].split(":")
    try:
        box = tuple(
            slice(None)
            if one == "-"
            else slice(int(one.split(",")[0]), sum(int(n) for n in one.split(",")))
            for one in ranges
        )
    except ValueError:
        box = ()
    if len(box) != len(shape):
        raise InvalidArgumentError(f"{where}: {text!r} is no part of a value of shape {shape}")
    return box
