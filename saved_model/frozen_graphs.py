"""Frozen graphs: a GraphDef by itself, whose variables have become constants."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from pinnace.framework.context import init_scope
from pinnace.framework.errors import DataLossError, InvalidArgumentError, NotFoundError
from pinnace.framework.specs import TensorSpec
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.graph.codec.functions import FunctionLibrary
from pinnace.graph.codec.graphs import decode_graph
from pinnace.graph.codec.references import VARIABLES
from pinnace.graph.codec.shapes import decode_shape
from pinnace.ops import registry
from pinnace.ops.array.constants import CONST, PLACEHOLDER_WITH_DEFAULT
from pinnace.proto.graph_pb2 import GraphDef
from pinnace.proto.saved_model_pb2 import MetaGraphDef, SavedModel
from pinnace.saved_model import layout
from pinnace.saved_model.codecs.signatures import GraphSignature, GraphTensor, encode_signature
from pinnace.saved_model.options import LoadOptions
from pinnace.saved_model.restore_nodes import needed_messages
from pinnace.saved_model.text_form import parse_text
from pinnace.saved_model.v1_graphs import MainGraph
from pinnace.saved_model.v1_resources import fills_resource
from pinnace.storage.regular_files import open_regular
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from pinnace.functions.concrete import ConcreteFunction
    from pinnace.proto.node_def_pb2 import NodeDef

_PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2"})
# Before that version, a placeholder of unknown shape was written as a scalar.
_LAST_WITHOUT_RANK = 21
_INITIALISER = "pinnace_initialiser"


def load_frozen_graph(
    path: str | os.PathLike[str],
    inputs: Iterable[str] | None = None,
    outputs: Iterable[str] | None = None,
    options: LoadOptions | None = None,
) -> ConcreteFunction:
    """Load a frozen graph as a function of some of its tensors.

    Args:
        path: a GraphDef, as `graph.pb` or, in the text form, `graph.pbtxt`.
        inputs: names of the tensors to feed, `node` or `node:1`; None takes the placeholders that
            the outputs depend on.
        outputs: names of the tensors to compute; None takes those that no node consumes.
        options: see `LoadOptions`; there is no checkpoint.

    Returns:
        A concrete function, called with the inputs by name; its results are by name too.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: the file is damaged, or not a graph.
        InvalidArgumentError: a name is not in the graph, or the graph is not frozen.

    Source:
        TensorFlow `tf.compat.v1.import_graph_def` and `wrap_function.prune`.
    """
    with init_scope():
        return _Frozen(path, inputs, outputs, options or LoadOptions()).function()


def placeholders(
    path: str | os.PathLike[str], outputs: Iterable[str] | None, given: Iterable[str]
) -> list[str]:
    """Return the names of the placeholders that some outputs depend on.

    Args:
        path: as for `load_frozen_graph`.
        outputs: as for `load_frozen_graph`.
        given: names of tensors that are fed, so that their own inputs do not count.
    """
    frozen = _Frozen(path, list(given), outputs, LoadOptions())
    return frozen.inputs_with_placeholders()


def read_frozen_graph(
    path: str | os.PathLike[str],
    inputs: Iterable[str] | None = None,
    outputs: Iterable[str] | None = None,
) -> MetaGraphDef:
    """Read a frozen graph as the graph of a SavedModel with one signature.

    Args:
        path: as for `load_frozen_graph`.
        inputs: as for `load_frozen_graph`.
        outputs: as for `load_frozen_graph`.
    """
    return _Frozen(path, inputs, outputs, LoadOptions()).described()


class _Frozen:
    """A graph, with the tensors that are fed and fetched."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        inputs: Iterable[str] | None,
        outputs: Iterable[str] | None,
        options: LoadOptions,
    ) -> None:
        self._where = os.fspath(path)
        self._options = options
        self._graph = _read(Path(path))
        self._nodes: dict[str, NodeDef] = {node.name: node for node in self._graph.node}
        self._outputs = list(self._ends() if outputs is None else outputs)
        for name in self._outputs:
            self._node(name, "output")
        self._inputs = list(self._placeholders() if inputs is None else inputs)
        self._specs = {name: self._spec(name) for name in self._inputs}

    def inputs_with_placeholders(self) -> list[str]:
        """The inputs, and further placeholders that the outputs depend on."""
        known = {name.partition(":")[0] for name in self._inputs}
        return [*self._inputs, *(name for name in self._placeholders(known) if name not in known)]

    def function(self) -> ConcreteFunction:
        """The function from the inputs to the outputs."""
        self._refuse_variables()
        main = MainGraph(Path(self._where), self._meta(), self._options, self._where)
        main.initialise()
        return self._function(main)

    def _function(self, main: MainGraph) -> ConcreteFunction:
        return main.function(
            "frozen_graph",
            {name: (name, spec) for name, spec in self._specs.items()},
            {name: (name, None) for name in self._outputs},
            self._where,
        )

    def described(self) -> MetaGraphDef:
        """The graph, with the signature that it has as a function."""
        meta = self._meta()
        function = self._function(MainGraph(Path(self._where), meta, self._options, self._where))
        inputs = {name: _tensor(name, spec) for name, spec in self._specs.items()}
        outputs = {name: _tensor(name, spec) for name, spec in function.structured_outputs.items()}
        message = encode_signature(GraphSignature(inputs, outputs))
        meta.signature_def[layout.DEFAULT_SIGNATURE].CopyFrom(message)
        return meta

    def _meta(self) -> MetaGraphDef:
        meta = MetaGraphDef()
        meta.graph_def.CopyFrom(self._graph)
        fills = [node.name for node in self._graph.node if fills_resource(node)]
        if fills:
            # Programs that import the graph run these first; here loading does.
            waits = [f"^{name}" for name in fills]
            meta.graph_def.node.add(name=_INITIALISER, op="NoOp", input=waits)
            names = meta.collection_def[layout.INIT_COLLECTION].node_list.value
            names.append(_INITIALISER)
        return meta

    def _node(self, name: str, what: str) -> NodeDef:
        found = self._nodes.get(name.partition(":")[0])
        if found is None:
            shown = ", ".join(self._ends() if what == "output" else self._placeholders())
            raise InvalidArgumentError(
                f"{self._where}: there is no {what} {name!r}: the graph has no such node\n"
                f"  Try: {shown or 'the name of a node'}"
            )
        return found

    def _ends(self) -> list[str]:
        """The nodes whose outputs no other node takes."""
        taken = {
            text.lstrip("^").partition(":")[0] for node in self._graph.node for text in node.input
        }
        found = [
            node.name
            for node in self._graph.node
            if node.name not in taken and not _is_unwanted(node) and not fills_resource(node)
        ]
        if not found:
            raise InvalidArgumentError(
                f"{self._where}: every node's output is consumed by another node, so the outputs "
                "must be named\n  Try: outputs=[...], at the command line --outputs NAMES"
            )
        return found

    def _placeholders(self, given: Collection[str] = ()) -> list[str]:
        """The placeholders that the outputs depend on, with some nodes fed."""
        return [node.name for node in self._needed(given) if node.op in _PLACEHOLDERS]

    def _needed(self, given: Collection[str]) -> list[NodeDef]:
        """The nodes that compute the outputs, once some nodes are fed; in the order of the file."""
        roots = [name.partition(":")[0] for name in self._outputs]
        found = {node.name for node in needed_messages(self._nodes, *roots, without=given)}
        return [node for node in self._graph.node if node.name in found]

    def _spec(self, name: str) -> TensorSpec:
        node = self._node(name, "input")
        if node.op not in (*_PLACEHOLDERS, "PlaceholderWithDefault"):
            library = FunctionLibrary(self._graph.library.function, self._where)
            return decode_graph(self._graph, self._where, [name], library=library).outputs[0].spec
        where = f"{self._where}: node {node.name!r}"
        dtype = decode_dtype(node.attr["dtype"].type, where)
        message = node.attr["shape"].shape
        if "shape" not in node.attr or (not message.dim and self._version <= _LAST_WITHOUT_RANK):
            return TensorSpec(None, dtype)
        return TensorSpec(decode_shape(message, where), dtype)

    @property
    def _version(self) -> int:
        return int(self._graph.versions.producer)

    def _refuse_variables(self) -> None:
        for node in self._needed({name.partition(":")[0] for name in self._inputs}):
            if node.op in VARIABLES or node.op == "VarHandleOp":
                raise InvalidArgumentError(
                    f"{self._where}: variable {node.name!r} has no value here: the graph is not "
                    "frozen, its variables are in a checkpoint\n"
                    "  Try: tf.compat.v1.graph_util.convert_variables_to_constants, or a SavedModel"
                )


def _tensor(name: str, spec: TensorSpec) -> GraphTensor:
    reference = name if ":" in name else f"{name}:0"
    return GraphTensor(reference, spec.dtype, spec.shape)


def _read(path: Path) -> GraphDef:
    """The message in a file."""
    if not path.is_file():
        raise NotFoundError(f"there is no frozen graph at {path}: there is no such file")
    if path.suffix == ".pbtxt":
        graph = GraphDef()
        parse_text(path, graph, "GraphDef")
    else:
        with explained("read", path), open_regular(path) as file:
            data = file.read()
        try:
            graph = GraphDef.FromString(data)
        except DecodeError as error:
            if _is_saved_model(data):
                graph = GraphDef()
            else:
                raise DataLossError(f"{path} is damaged: it is not a GraphDef message") from error
        if not graph.node and _is_saved_model(data):
            raise InvalidArgumentError(
                f"{path} is the file of a SavedModel, not a frozen graph\n"
                f"  Try: its folder, with the file named {layout.MODEL_FILE}"
            )
    if not graph.node:
        raise DataLossError(f"{path} has no nodes: it is not a GraphDef, empty or truncated")
    return graph


def _is_saved_model(data: bytes) -> bool:
    try:
        return bool(SavedModel.FromString(data).meta_graphs)
    except DecodeError:
        return False


def _is_unwanted(node: NodeDef) -> bool:
    """Whether a node without consumers is no output: a placeholder, constant or traceless op."""
    op = registry.at_hand(node.op)
    if node.op in _PLACEHOLDERS or op is CONST or op is PLACEHOLDER_WITH_DEFAULT:
        return True
    return op is not None and op.traceless
