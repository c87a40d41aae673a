"""SavedModels without objects, as TensorFlow 1 wrote them: main graph and signatures.

A signature becomes the part of the main graph between its inputs and outputs. Variables and tables
are made once for the model and are captures of every signature.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pinnace.engine.allocation import bounded
from pinnace.engine.build import plan_of
from pinnace.framework import dtypes
from pinnace.framework.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
)
from pinnace.framework.specs import TensorSpec
from pinnace.framework.variable import Variable
from pinnace.functions.component_names import named_tensors
from pinnace.functions.concrete import ConcreteFunction
from pinnace.graph.codec.attrs import decode_attr
from pinnace.graph.codec.functions import FunctionLibrary
from pinnace.graph.codec.graphs import add_argument, decode_graph
from pinnace.graph.codec.nodes import attr_kind
from pinnace.graph.codec.references import VARIABLES, variable_shape
from pinnace.ops.registry import find
from pinnace.saved_model import layout
from pinnace.saved_model.assets import named_assets, resolve_asset
from pinnace.saved_model.codecs.signatures import GraphSignature, decode_signature
from pinnace.saved_model.initialisers import initialisers
from pinnace.saved_model.restore_nodes import Source, restored_sources
from pinnace.saved_model.restored import LazyConcrete, RestoredObject, SignatureMap
from pinnace.saved_model.v1_resources import MainGraphResources, makes_resource
from pinnace.storage.bundle import BundleReader, index_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.graph.graph import Graph, GraphBuilder, Value
    from pinnace.proto.node_def_pb2 import NodeDef
    from pinnace.proto.saved_model_pb2 import MetaGraphDef, SignatureDef
    from pinnace.saved_model.options import LoadOptions

_T = TypeVar("_T")
# The ops that hold the value of a variable: by a handle, or by reference.
_HOLDERS = VARIABLES | {"VarHandleOp"}


def load_main_graph(folder: Path, meta: MetaGraphDef, options: LoadOptions) -> RestoredObject:
    """Load the signatures of a model without objects.

    Args:
        folder: the model.
        meta: its graph.
        options: see `LoadOptions`.

    Returns:
        An object with `signatures`, `variables` and `graph_debug_info`.
    """
    return MainGraph(folder, meta, options, str(layout.model_path(folder))).load()


class MainGraph:
    """The main graph of one model, with its variables and resources.

    Args:
        folder: the folder of the checkpoint and the assets.
        meta: the graph.
        options: see `LoadOptions`.
        where: the file, for errors.
    """

    def __init__(self, folder: Path, meta: MetaGraphDef, options: LoadOptions, where: str) -> None:
        self._folder = folder
        self._meta = meta
        self._options = options
        self._where = where
        self._nodes: dict[str, NodeDef] = {node.name: node for node in meta.graph_def.node}
        self._library = FunctionLibrary(
            meta.graph_def.library.function,
            self._where,
            meta.meta_info_def.stripped_op_list.op,
            allow_io=options.allow_io,
        )
        self._variables: dict[str, Variable] = {}
        self._assets = {
            asset.tensor_info.name.partition(":")[0]: resolve_asset(
                folder, asset.filename, self._where, allow_links=options.allow_io
            )
            for asset in named_assets(meta)
        }
        self._reader: BundleReader | None = None
        self._resources = MainGraphResources(
            meta,
            self._where,
            self._library,
            lambda: initialisers(meta),
            lambda fills, name: self._part([], [], fills, name),
            None if options.experimental_skip_checkpoint else self._checkpoint,
        )
        # The error with which the initialiser of the session cannot run.
        self._refused: OpError | None = None

    def load(self) -> RestoredObject:
        """The object with the signatures."""
        root = self.prepare()
        if not self._options.experimental_skip_checkpoint:
            # Now, as TensorFlow Serving does: the folder may hold another model later.
            self.initialise()
        return root

    def prepare(self) -> RestoredObject:
        """Return the object before any code of the model has run.

        Raises:
            OpError: the model cannot be loaded.
        """
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
        root.variables = list({id(one): one for one in self._variables.values()}.values())
        # TensorFlow's name for them; saved again, they are objects that the signatures capture.
        root.asset_paths = list(self._assets.values())
        root.tables = self._resources.all()
        put(root, "tensorflow_version", self._meta.meta_info_def.tensorflow_version)
        put(root, "tensorflow_git_version", self._meta.meta_info_def.tensorflow_git_version)
        return root

    # Signatures.

    def _lazy(self, name: str) -> LazyConcrete:
        message = self._meta.signature_def[name]
        where = f"{self._where}: signature {name!r}"

        def arguments() -> Any:
            return (), self._decoded(message, where).input_specs

        return LazyConcrete(name, arguments, lambda: self._signature(name))

    def _decoded(self, message: SignatureDef, where: str) -> GraphSignature:
        """A signature whose inputs have the dtypes of the graph: those of the file only describe.

        TensorFlow feeds the node that a signature names, whatever dtype the signature gives it.
        """
        found = decode_signature(message, where)
        inputs = {}
        for key, tensor in found.inputs.items():
            dtype = self._dtype_of(tensor.reference, where)
            inputs[key] = tensor if dtype is None else replace(tensor, dtype=dtype)
        return replace(found, inputs=inputs)

    def _dtype_of(self, reference: str, where: str) -> DType | None:
        """The dtype of a value of the graph; None if only the whole graph determines it."""
        name, _, index = reference.partition(":")
        node = self._nodes.get(name)
        op = None if node is None else find(node.op)
        if node is None or op is None:
            return None
        attrs = {
            key: decode_attr(value, kind, where, self._library.ref)
            for key, value in node.attr.items()
            if (kind := attr_kind(op, key)) in ("type", "list(type)", "int")
        }
        try:
            return op.output_dtypes(attrs)[int(index or 0)]
        except (KeyError, IndexError, ValueError):
            return None

    def _signature(self, name: str) -> ConcreteFunction:
        where = f"{self._where}: signature {name!r}"
        found = self._decoded(self._meta.signature_def[name], where)
        return self.function(
            f"signature_{name}",
            {key: (tensor.reference, tensor.spec) for key, tensor in found.inputs.items()},
            {key: (tensor.reference, tensor.spec) for key, tensor in found.outputs.items()},
            where,
            (found.input_specs, found.output_specs),
        )

    def function(
        self,
        name: str,
        inputs: Mapping[str, tuple[str, TensorSpec]],
        outputs: Mapping[str, tuple[str, TensorSpec | None]],
        where: str,
        structure: tuple[Any, Any] | None = None,
    ) -> ConcreteFunction:
        """Return a part of the graph as a function.

        Args:
            name: the function's name.
            inputs: name -> reference and spec of a tensor to feed.
            outputs: name -> reference and declared spec, or None.
            where: the place of the declaration, for errors.
            structure: input and output specs by name, if some are composite, else None.

        Raises:
            InvalidArgumentError: an output has another dtype than declared.
            OpError: it depends on the initialiser, which failed.
        """
        taken, found = (inputs, outputs) if structure is None else structure
        inputs, outputs = _as_flattened(inputs, taken), _as_flattened(outputs, found)
        given = [(reference, key, spec) for key, (reference, spec) in inputs.items()]
        wanted = [reference for reference, _ in outputs.values()]
        graph, captured, variables = self._part(given, wanted, [], name, list(outputs))
        self._require_initialised(captured)
        results = {}
        for (key, (_, spec)), value in zip(outputs.items(), graph.outputs, strict=True):
            if spec is not None and spec.dtype is not value.dtype:
                raise InvalidArgumentError(
                    f"{where}: output {key!r} is declared {spec.dtype.name}, the graph has "
                    f"{value.spec.text}"
                )
            results[key] = (spec or value.spec).with_name(key)
        if structure is None:
            structure = {key: spec.with_name(key) for key, (_, spec) in inputs.items()}, results
        return ConcreteFunction(
            graph,
            captured,
            ((), structure[0]),
            structure[1],
            variables,
            by_name=True,
        )

    def _part(
        self,
        inputs: list[tuple[str, str, TensorSpec]],
        outputs: list[str],
        effects: list[str],
        name: str = "graph",
        output_names: list[str] | None = None,
    ) -> tuple[Graph, list[Tensor], list[Variable]]:
        """Cut a part out of the graph; also return the tensors and variables that it captures."""
        captured: list[Tensor] = []
        variables: list[Variable] = []
        handles: dict[str, Value] = {}

        def capture(
            graph: GraphBuilder, name: str, tensor: Tensor, handle: TensorSpec | None
        ) -> Value:
            value = add_argument(graph, TensorSpec.of(tensor.shape, tensor.dtype), name, handle)
            captured.append(tensor)
            return value

        def given(graph: GraphBuilder, node: NodeDef, position: int) -> Value | None:
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
                return value
            if makes_resource(node):
                return capture(graph, node.name, self._resources.of(node).resource_handle, None)
            if node.name in self._assets:
                return capture(graph, node.name, self._assets[node.name].asset_path, None)
            return None

        graph = decode_graph(
            self._meta.graph_def,
            self._where,
            outputs,
            name=name,
            output_names=output_names,
            inputs=inputs,
            effects=effects,
            library=self._library,
            given=given,
        )
        return graph, captured, variables

    # Variables and resources.

    def initialise(self, *, rehearsed: bool = False) -> None:
        """Run the initialiser, which fills tables, as a session does after restoring.

        Args:
            rehearsed: only check whether it can run.
        """
        names = initialisers(self._meta)
        if not names:
            return
        most = self._options.max_run_bytes
        try:
            with bounded(most) if most else nullcontext():
                self._initialise(names, rehearsed=rehearsed)
        except OpError as error:
            # Signatures that do not depend on it work without it.
            self._refused = error

    def _initialise(self, names: Sequence[str], *, rehearsed: bool) -> None:
        graph, captured, _ = self._part([], [], list(names))
        if graph.effects:
            plan = plan_of(graph)
            if not rehearsed:
                plan([np.asarray(tensor._array) for tensor in captured])

    def _require_initialised(self, captured: Iterable[Tensor]) -> None:
        """Check that a signature does not depend on an initialiser that failed.

        Raises:
            OpError: it does.
        """
        if self._refused is None:
            return
        for tensor in captured:
            if tensor.dtype is dtypes.resource:
                held: Any = np.asarray(tensor._array)[()]
                if not held.is_initialized or getattr(held, "mutable", False):
                    first = ", ".join(map(repr, initialisers(self._meta)))
                    raise type(self._refused)(
                        f"{self._where}: {held.name!r} has no value, since the initialiser of the "
                        f"model, {first}, cannot run: "
                        f"{self._refused.message}"
                    ) from self._refused

    def _make_variables(self) -> None:
        """A variable per node that holds one; values are read from the checkpoint on first use."""
        sources = None
        shared: dict[tuple[bytes, bytes], Variable] = {}
        for node in self._meta.graph_def.node:
            if node.op not in _HOLDERS:
                continue
            key = (node.attr["container"].s, node.attr["shared_name"].s)
            if key in shared:
                self._variables[node.name] = shared[key]
                continue
            where = f"{self._where}: node {node.name!r}"
            dtype = decode_attr(node.attr["dtype"], "type", where, self._library.ref)
            shape = decode_attr(variable_shape(node), "shape", where, self._library.ref)
            variable = Variable.uninitialized(dtype, shape, node.name, trainable=True)
            if sources is None:
                sources = self._sources()
            source = sources.get(node.name)
            if source is not None and not self._options.experimental_skip_checkpoint:
                self._attach(variable, source)
            self._variables[node.name] = variable
            if key[1]:
                shared[key] = variable

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
            # TensorFlow: a model without a checkpoint and a SaverDef restores nothing.
            if self._meta.HasField("saver_def") or prefix.with_suffix(".index").exists():
                self._reader = BundleReader(prefix, largest_read=self._options.largest_read)
                if self._options.verify:
                    self._reader.verify_all()
        return self._reader

    def _sources(self) -> dict[str, Source]:
        """The source of each variable in the checkpoint, from its restore nodes."""
        found = restored_sources(
            self._nodes, self._library, self._meta.saver_def.restore_op_name, self._where
        )
        reader = self._checkpoint()
        if reader is not None:
            for name, node in self._nodes.items():
                if node.op in _HOLDERS:
                    named = "shared_name" in node.attr
                    shared = node.attr["shared_name"].s.decode(errors="replace") if named else ""
                    for key in (shared, name):
                        if key and key in reader:
                            found.setdefault(name, Source(key))
        return found


def _as_flattened(tensors: Mapping[str, _T], specs: Mapping[str, Any]) -> dict[str, _T]:
    """Sort tensors in the order in which the values that they are components of are flattened.

    The values are sorted by name, the components of a value as its class does: indices, values and
    shape of a sparse tensor.
    """
    return {key: tensors[key] for key in named_tensors(specs)}


def _box(text: str, shape: tuple[int, ...], where: str) -> tuple[slice, ...]:
    """The slice of a value that `sizes start,length:start,length` means; `-` is a whole axis."""
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
        raise InvalidArgumentError(f"{where}: {text!r} is not a slice of a value of shape {shape}")
    return box
