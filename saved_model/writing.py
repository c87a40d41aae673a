"""`save`: an object, its variables and functions to a SavedModel folder; the steps in order."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from pinnace.checkpoint.keys import OBJECT_GRAPH_KEY, VARIABLE_VALUE, checkpoint_key
from pinnace.checkpoint.object_graph import describe, encode_object_graph
from pinnace.framework import dtypes, jobs
from pinnace.framework.context import init_scope
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.shapes import SCALAR, UNKNOWN
from pinnace.framework.trackable import Trackable
from pinnace.functions.concrete import ConcreteFunction
from pinnace.functions.function import Function
from pinnace.graph.codec.encoding import (
    MIN_CONSUMER,
    PRODUCER,
    FunctionNames,
    encode_library,
    tensor_name,
)
from pinnace.graph.codec.shapes import encode_shape
from pinnace.proto.saved_model_pb2 import AssetFileDef, MetaGraphDef, SavedModel
from pinnace.saved_model import layout
from pinnace.saved_model.assets import copy_assets, name_assets
from pinnace.saved_model.codecs.objects import (
    CapturedObject,
    ConcreteInfo,
    Objects,
    SavedItem,
    encode_objects,
)
from pinnace.saved_model.codecs.signatures import (
    GraphTensor,
    encode_signature,
    encode_tensor_info,
)
from pinnace.saved_model.codecs.structures import NotEncodable, encode_structure
from pinnace.saved_model.fingerprints import write_fingerprint
from pinnace.saved_model.main_graph import MainGraph, add_saver, add_signature
from pinnace.saved_model.options import SaveOptions
from pinnace.saved_model.restored import RestoredFunction
from pinnace.saved_model.shared_tables import without_container
from pinnace.saved_model.snapshot import Snapshot, describe_item, saved_traces, take_snapshot
from pinnace.storage.atomic import replace_folder
from pinnace.storage.bundle_writer import BundleWriter
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.proto.graph_pb2 import GraphDef
    from pinnace.saved_model.snapshot import InnerTensor

# The writer's version, which tools parse.
_TENSORFLOW_VERSION = "2.21.0"
_WRITER = "pinnace"
_LARGEST_FILE = (1 << 31) - 1


def save(
    obj: Trackable,
    export_dir: str | os.PathLike[str],
    signatures: Any = None,
    options: SaveOptions | None = None,
) -> None:
    """Write a SavedModel: the objects below `obj`, their variables, and every traced function.

    The folder appears complete or not at all; an existing one is replaced atomically.

    Args:
        obj: a Module, a model, a Checkpoint: anything with named children.
        export_dir: the folder.
        signatures: the functions to serve: a function with an `input_signature`, a concrete
            function, or a dict of them by name. None takes those that the object offers.
        options: see `SaveOptions`.

    Raises:
        TypeError: `obj` has no named children.
        ValueError: a function cannot be a signature.
        FailedPreconditionError: a function uses a variable that no saved object has, a variable has
            no value, or the folder cannot be replaced.

    Source:
        TensorFlow `tf.saved_model.save`.
    """
    if not isinstance(obj, Trackable):
        raise TypeError(
            f"save: expected a Module, a model or another Trackable, got {type(obj).__name__}"
        )
    chosen = options or SaveOptions()
    with init_scope():
        snapshot = take_snapshot(
            obj, signatures, custom_gradients=chosen.experimental_custom_gradients
        )
        model = _Model(snapshot, chosen)
        message = model.message()
        path = os.fspath(export_dir)
        with jobs.chief_path(f"saving {path!r}", path) as own:
            with explained("save to", own):
                Path(own).parent.mkdir(parents=True, exist_ok=True)
            with replace_folder(own) as folder:
                model.write_variables(folder)
                copy_assets(folder, snapshot.assets.values(), model.asset_names)
                write_message(message, folder)


def write_message(message: SavedModel, folder: Path) -> None:
    """Write the file of messages and its fingerprint; the other files must exist already."""
    size = message.ByteSize()
    if size > _LARGEST_FILE:
        raise InvalidArgumentError(
            f"save: graph and constants take {size} bytes, the format allows {_LARGEST_FILE}\n"
            "  Try: hold large arrays in variables, not in constants"
        )
    with explained("write", layout.model_path(folder)):
        data = message.SerializeToString(deterministic=True)
        _refuse_too_deep(data)
        layout.model_path(folder).write_bytes(data)
    write_fingerprint(message, data, folder)


def _refuse_too_deep(data: bytes) -> None:
    """Refuse messages nested more than 100 deep, which protobuf does not parse."""
    try:
        SavedModel.FromString(data)
    except DecodeError as error:
        raise InvalidArgumentError(
            "save: a structure of arguments or results is nested too deep for the format: "
            f"{error}\n"
            "  Try: fewer lists, tuples or dicts one inside the other, some forty at most"
        ) from error


class _Model:
    """The parts of one SavedModel, while it is written."""

    def __init__(self, snapshot: Snapshot, options: SaveOptions) -> None:
        self._snapshot = snapshot
        self._options = options
        self._names = FunctionNames()
        self._main = MainGraph(self._names.of_ref)
        # Object number -> node of the main graph.
        self._nodes: dict[int, str] = {}
        self._objects, self._values = describe(snapshot.tree)
        self._object_bytes = encode_object_graph(self._objects).SerializeToString(
            deterministic=True
        )
        self.asset_names = name_assets(snapshot.assets.values())

    def message(self) -> SavedModel:
        """The SavedModel message, without variables and assets."""
        model = SavedModel(saved_model_schema_version=layout.SCHEMA_VERSION)
        meta = model.meta_graphs.add()
        self._describe_writer(meta)
        self._add_constants()
        self._add_variables()
        self._add_assets(meta)
        self._add_signatures(meta)
        self._add_initialiser(meta)
        self._add_saver(meta)
        self._add_functions(meta)
        meta.object_graph_def.CopyFrom(encode_objects(self._described_objects()))
        return model

    def write_variables(self, folder: Path) -> None:
        """Write the bundle: every value, and the object graph that maps objects to keys."""
        prefix = layout.variables_prefix(folder)
        with BundleWriter(prefix, max_shard_bytes=self._options.max_shard_bytes) as bundle:
            for key, read in self._values.items():
                bundle.add(key, read())
            array = np.empty((), object)
            array[()] = self._object_bytes
            bundle.add(OBJECT_GRAPH_KEY, array)

    def _describe_writer(self, meta: MetaGraphDef) -> None:
        info = meta.meta_info_def
        info.tags.append(layout.SERVE)
        info.tags.extend(self._options.extra_tags or ())
        info.tensorflow_version = _TENSORFLOW_VERSION
        info.tensorflow_git_version = _WRITER
        info.stripped_default_attrs = True
        for name, function in (self._options.function_aliases or {}).items():
            for concrete in _concrete_of(function):
                info.function_aliases[self._names.of(concrete.graph)] = name

    def _add_constants(self) -> None:
        for number, tensor in self._snapshot.constants.items():
            if tensor.dtype is dtypes.variant:
                raise UnimplementedError(
                    "save: a function captured a variant tensor: a dataset, an optional or a list "
                    "made outside of it, which no constant of a SavedModel can hold\n"
                    "  Try: make it inside the function, or keep what it is made of in variables\n"
                    "  Try: a copy of the folder, if the model was loaded and is not changed"
                )
            value = np.asarray(tensor._array)
            self._nodes[number] = self._main.constant(value, tensor.dtype)

    def _add_variables(self) -> None:
        for number, variable in self._snapshot.variables.items():
            name = variable.node_name
            self._nodes[number] = self._main.variable(name, variable.dtype, variable.shape)

    def _add_assets(self, meta: MetaGraphDef) -> None:
        for number, asset in self._snapshot.assets.items():
            node = self._main.placeholder("asset_path", dtypes.string, SCALAR)
            self._nodes[number] = node
            tensor = GraphTensor(f"{node}:0", dtypes.string, SCALAR)
            meta.asset_file_def.append(
                AssetFileDef(
                    tensor_info=encode_tensor_info(tensor), filename=self.asset_names[id(asset)]
                )
            )

    def _captured_nodes(self, function: ConcreteFunction) -> list[str]:
        number = self._snapshot.number_of(function)
        return [self._nodes[one] for one in self._snapshot.captures[number]]

    def _add_signatures(self, meta: MetaGraphDef) -> None:
        self._add_resources()
        for name, function in self._snapshot.signatures.items():
            captured = self._captured_nodes(function)
            signature = add_signature(self._main, name, function, captured)
            meta.signature_def[name].CopyFrom(encode_signature(signature))

    def _add_resources(self) -> None:
        """Add handles of tables: each is the output of the function that creates it on loading."""
        for number in self._snapshot.resources:
            trace = self._trace_of(number, layout.CREATE)
            if trace is not None:
                self._nodes[number] = self._main.call(trace, self._captured_nodes(trace))

    def _trace_of(self, number: int, child: str) -> ConcreteFunction | None:
        place = self._snapshot.children[number].get(child)
        function = None if place is None else self._snapshot.objects[place]
        if isinstance(function, (Function, RestoredFunction)):
            traces = saved_traces(function)
            return traces[0] if traces else None
        return function if isinstance(function, ConcreteFunction) else None

    def _add_initialiser(self, meta: MetaGraphDef) -> None:
        """Add the node that a session runs once, under both names by which it may be found."""
        calls = []
        for number in self._snapshot.resources:
            trace = self._trace_of(number, layout.INITIALIZE)
            if trace is not None:
                calls.append(self._main.call(trace, self._captured_nodes(trace)))
        node = self._main.no_op("NoOp", calls)
        meta.collection_def[layout.INIT_COLLECTION].node_list.value.append(node)
        info = meta.signature_def[layout.INIT_SIGNATURE].outputs[layout.INIT_SIGNATURE]
        info.name = node
        info.tensor_shape.CopyFrom(encode_shape(UNKNOWN))

    def _add_saver(self, meta: MetaGraphDef) -> None:
        if self._options.experimental_skip_saver:
            return
        tree = self._snapshot.tree
        variables = [
            (checkpoint_key(tree.paths[number], VARIABLE_VALUE), self._nodes[number], one.dtype)
            for number, one in self._snapshot.variables.items()
        ]
        meta.saver_def.CopyFrom(
            add_saver(
                self._main, variables, self._stored_tables(), self._object_bytes, OBJECT_GRAPH_KEY
            )
        )

    def _stored_tables(self) -> list[tuple[str, str, DType, DType]]:
        """Key, handle and dtypes of each table that the checkpoint holds."""
        found = []
        for number in self._snapshot.saveables:
            one = self._snapshot.resources[number]
            table: Any = one._resource()
            key = checkpoint_key(self._snapshot.tree.paths[number], one._legacy_saveable_name)
            found.append((key, self._nodes[number], table.key_dtype, table.value_dtype))
        return found

    def _add_functions(self, meta: MetaGraphDef) -> None:
        graphs = [function.graph for function in self._snapshot.concrete.values()]
        graph = meta.graph_def
        graph.versions.producer = PRODUCER
        graph.versions.min_consumer = MIN_CONSUMER
        marks = {}
        for function, _ in self._snapshot.gradients:
            graphs.append(function.graph)
            name = self._names.of(function.graph)
            marks[function.node] = f"CustomGradient-{name}"
            graph.library.registered_gradients.add(
                gradient_func=name, registered_op_type=marks[function.node]
            )
        graph.library.function.extend(
            without_container(one) for one in encode_library(graphs, self._names, marks)
        )
        graph.node.extend(self._main.nodes)
        _check_namespaces(graph, self._options.namespace_whitelist)

    def _described_objects(self) -> Objects:
        snapshot = self._snapshot
        names = {n: self._names.of(f.graph) for n, f in snapshot.concrete.items()}
        names.update((n, self._nodes[n]) for n in snapshot.constants)
        items = tuple(
            self._inner_item(snapshot.inner[n])
            if n in snapshot.inner
            else describe_item(snapshot, n, names)
            for n in range(len(snapshot.objects))
        )
        functions = {
            names[number]: _describe_concrete(function, snapshot.captures[number])
            for number, function in snapshot.concrete.items()
        }
        for gradient, bound in snapshot.gradients:
            # TensorFlow's first argument is the operation, which functions do not take.
            arguments = encode_structure(((None, *gradient.arguments), {}))
            results = encode_structure(list(gradient.results))
            functions[self._names.of(gradient.graph)] = ConcreteInfo(bound, arguments, results)
        return Objects(items, functions)

    def _inner_item(self, inner: InnerTensor) -> SavedItem:
        tensor = tensor_name(inner.graph, inner.value)
        return SavedItem(CapturedObject(tensor, self._names.of(inner.graph)))


def _check_namespaces(graph: GraphDef, allowed: Sequence[str] | None) -> None:
    """Check that custom ops, `Name>Op`, are in the namespaces that the caller allows."""
    if allowed is None:
        return
    if isinstance(allowed, str) or not all(isinstance(one, str) for one in allowed):
        raise TypeError(f"save: namespace_whitelist must be a list of names, got {allowed!r}")
    bodies = [graph.node, *(function.node_def for function in graph.library.function)]
    ops = {node.op for nodes in bodies for node in nodes if ">" in node.op}
    refused = sorted(op for op in ops if op.partition(">")[0] not in allowed)
    if refused:
        raise ValueError(
            f"save: ops {', '.join(refused)} are in namespaces that are not allowed: "
            f"{', '.join(allowed) or 'none is'}\n"
            "  Try: SaveOptions(namespace_whitelist=[...]) with the part before `>`"
        )


def _describe_concrete(function: ConcreteFunction, bound: tuple[int, ...]) -> ConcreteInfo:
    try:
        arguments = encode_structure(function.structured_input_signature)
        results = encode_structure(function.structured_outputs)
    except NotEncodable as error:
        raise InvalidArgumentError(
            f"save: function {function.name!r} has arguments or results that "
            f"cannot be written: {error}"
        ) from error
    return ConcreteInfo(bound, arguments, results)


def _concrete_of(function: Any) -> list[ConcreteFunction]:
    return [function] if isinstance(function, ConcreteFunction) else saved_traces(function)
