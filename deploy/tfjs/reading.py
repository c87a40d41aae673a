"""Graph models of TensorFlow.js as functions: `model.json` and its shards become a GraphDef.

Sizes are compared with the files before memory is allocated, and file names must not lead out of
the folder.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.json_format import ParseDict, ParseError

from pinnace.deploy.tfjs.files.folder import MODEL_FILE
from pinnace.deploy.tfjs.files.weights import read_weights
from pinnace.deploy.tfjs.tables import RESOURCE, tables_of, with_tables
from pinnace.deploy.tfjs.unfusing import apart
from pinnace.framework import dtypes
from pinnace.framework.context import init_scope
from pinnace.framework.dtypes import DType
from pinnace.framework.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)
from pinnace.framework.tensor import Array
from pinnace.functions.concrete import ConcreteFunction
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.graph.codec.tensors import encode_tensor
from pinnace.ops.registry import at_hand
from pinnace.proto.function_pb2 import FunctionDef
from pinnace.proto.graph_pb2 import GraphDef
from pinnace.proto.node_def_pb2 import NodeDef
from pinnace.proto.saved_model_pb2 import MetaGraphDef, SavedModel, SignatureDef
from pinnace.saved_model import layout
from pinnace.saved_model.codecs.signatures import decode_signature
from pinnace.saved_model.options import LoadOptions
from pinnace.saved_model.v1_graphs import MainGraph
from pinnace.storage.regular_files import open_regular
from pinnace.storage.system_errors import explained

GRAPH, LAYERS = "graph-model", "layers-model"
_MOST_JSON = 1 << 29  # bytes of a model.json; large models have some megabytes
_MOST_WEIGHTS = (1 << 31) - (1 << 26)  # a GraphDef must be smaller than 2 GiB


def model_file(path: str | os.PathLike[str]) -> Path:
    """The `model.json` at a path or in the folder at the path.

    Raises:
        NotFoundError: there is no such file.
    """
    place = Path(path)
    found = place / MODEL_FILE if place.is_dir() else place
    if not found.is_file():
        raise NotFoundError(f"there is no model of TensorFlow.js at {place}: no {MODEL_FILE}")
    return found


def read_content(path: str | os.PathLike[str]) -> tuple[Path, dict[str, Any]]:
    """The file of a model, and its JSON.

    Raises:
        NotFoundError: the file does not exist.
        DataLossError: the file is damaged.
        InvalidArgumentError: the file is not a model.json.
    """
    file = model_file(path)
    with explained("read", file), open_regular(file) as opened:
        data = opened.read(_MOST_JSON + 1)
    if len(data) > _MOST_JSON:
        raise InvalidArgumentError(
            f"{file} has more than {_MOST_JSON:,} bytes: it is not a model.json"
        )
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DataLossError(f"{file} is damaged: it is not JSON: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("modelTopology"), dict):
        raise InvalidArgumentError(f"{file} is not a TensorFlow.js model: it has no modelTopology")
    return file, content


def kind_of(content: Mapping[str, Any]) -> str:
    """`GRAPH` or `LAYERS`; old files do not state their format."""
    said = content.get("format")
    if said in (GRAPH, LAYERS):
        return str(said)
    return GRAPH if "node" in content["modelTopology"] else LAYERS


def load(path: str | os.PathLike[str]) -> ConcreteFunction:
    """Load a graph model of TensorFlow.js as a function, with its weights as constants.

    Args:
        path: `model.json`, or its folder.

    Returns:
        A concrete function that takes and returns tensors by the signature's names. Types are
        TensorFlow's: tensors that TensorFlow.js computes as int32 may be int64.

    Raises:
        NotFoundError: the file does not exist.
        DataLossError: the file is damaged.
        InvalidArgumentError: it is not a graph model.
        UnimplementedError: it has ops of TensorFlow.js' own.
    """
    file, content = read_content(path)
    meta = meta_graph(file, content)
    signature = decode_signature(meta.signature_def[layout.DEFAULT_SIGNATURE], str(file))
    with init_scope():
        main = MainGraph(file.parent, meta, LoadOptions(), str(file))
        main.prepare()
        main.initialise()
        return main.function(
            "tfjs_model",
            {key: (one.reference, one.spec) for key, one in signature.inputs.items()},
            {key: (one.reference, None) for key, one in signature.outputs.items()},
            str(file),
        )


def write_saved_model(path: str | os.PathLike[str], folder: Path) -> None:
    """Convert a graph model of TensorFlow.js to a SavedModel.

    Args:
        path: `model.json`, or its folder.
        folder: the SavedModel to write.

    Raises:
        OpError: see `load`.
    """
    file, content = read_content(path)
    message = SavedModel(saved_model_schema_version=1)
    message.meta_graphs.append(meta_graph(file, content))
    folder.mkdir(parents=True, exist_ok=True)
    layout.model_path(folder).write_bytes(message.SerializeToString(deterministic=True))


def meta_graph(file: Path, content: Mapping[str, Any]) -> MetaGraphDef:
    """The MetaGraphDef with weights and signature.

    Args:
        file: `model.json`.
        content: its JSON.
    """
    where = str(file)
    if kind_of(content) != GRAPH:
        raise InvalidArgumentError(
            f"{where} is a layers model of TensorFlow.js, made of Keras layers; a graph model is "
            "wanted"
        )
    graph = _parse(content["modelTopology"], GraphDef(), f"{where}: modelTopology")
    if not graph.node:
        raise InvalidArgumentError(f"{where}: modelTopology has no nodes")
    weights = read_weights(file.parent, content.get("weightsManifest", []), where)
    if sum(array.nbytes for array in weights.values() if array.dtype != object) > _MOST_WEIGHTS:
        raise UnimplementedError(f"{where} has 2 GiB of weights or more, too many for a GraphDef")
    _fill(graph, weights, where)
    for nodes in (graph.node, *(function.node_def for function in graph.library.function)):
        if len({node.name for node in nodes}) != len(nodes):
            raise InvalidArgumentError(f"{where}: two nodes of its graph have the same name")
    meta = MetaGraphDef()
    signature = _signature(content, graph, where)
    first = content.get("modelInitializer")
    if isinstance(first, dict) and first.get("node"):
        initialiser = _parse(first, GraphDef(), f"{where}: modelInitializer")
        _fill(initialiser, weights, where)
        tables = tables_of(content, initialiser, where)
        start = with_tables(graph, signature, initialiser, tables)
        meta.collection_def[layout.INIT_COLLECTION].node_list.value.append(start)
    apart(graph.node, where)
    for function in graph.library.function:
        _whole_references(function)
        apart(function.node_def, where, function)
    meta.graph_def.CopyFrom(graph)
    meta.meta_info_def.tags.append(layout.SERVE)
    version = content.get("generatedBy")
    if isinstance(version, str) and version[:1].isdigit():
        meta.meta_info_def.tensorflow_version = version[:64]
    meta.signature_def[layout.DEFAULT_SIGNATURE].CopyFrom(signature)
    return meta


def _parse(content: Any, message: Any, where: str) -> Any:
    try:
        return ParseDict(content, message, ignore_unknown_fields=True)
    except (ParseError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise DataLossError(f"{where} is damaged: {str(error)[:300]}") from error


def _fill(graph: GraphDef, weights: Mapping[str, Array], where: str) -> None:
    """Put the weights into the graph's constants."""
    for nodes in (graph.node, *(function.node_def for function in graph.library.function)):
        for node in nodes:
            if node.op != "Const":
                continue
            if node.name not in weights:
                if node.attr["value"].tensor.ByteSize() and _holds_values(node):
                    continue
                raise DataLossError(f"{where}: there are no weights for the constant {node.name!r}")
            array = weights[node.name]
            wanted = decode_dtype(node.attr["dtype"].type, f"{where}: node {node.name!r}")
            node.attr["value"].tensor.CopyFrom(_tensor(array, wanted, node.name, where))


def _holds_values(node: NodeDef) -> bool:
    tensor = node.attr["value"].tensor
    return any(
        field.name not in ("dtype", "tensor_shape", "version_number")
        for field, _ in tensor.ListFields()
    )


def _tensor(array: Array, wanted: DType, name: str, where: str) -> Any:
    """The weight in the graph's type, as TensorFlow.js has fewer types."""
    is_text = array.dtype == object
    if is_text != (wanted is dtypes.string):
        raise InvalidArgumentError(
            f"{where}: the constant {name!r} is a {wanted.name} in the graph, and its weights are "
            f"{'strings' if is_text else array.dtype}"
        )
    if not is_text and array.dtype != wanted.numpy:
        if array.dtype.kind == "c" and wanted.numpy.kind != "c":
            raise InvalidArgumentError(
                f"{where}: the constant {name!r} is a {wanted.name} in the graph, and its weights "
                "are complex"
            )
        with np.errstate(all="ignore"):
            array = array.astype(wanted.numpy)
    return encode_tensor(array, wanted)


def _signature(content: Mapping[str, Any], graph: GraphDef, where: str) -> SignatureDef:
    """The signature, completed with the graph's ends if inputs or outputs are missing."""
    told = content.get("userDefinedMetadata")
    given = content.get("signature")
    if isinstance(told, dict) and isinstance(told.get("signature"), dict):
        given = told["signature"]
    found = SignatureDef()
    if isinstance(given, dict):
        plain = {side: _plain_side(given.get(side)) for side in ("inputs", "outputs")}
        found = _parse(plain, found, f"{where}: signature")
    _add_ends(found, graph)
    nodes = {node.name: node for node in graph.node}
    for side in (found.inputs, found.outputs):
        for key, tensor in side.items():
            name = tensor.name.partition(":")[0]
            if name not in nodes:
                raise InvalidArgumentError(
                    f"{where}: the signature's {key!r} is {tensor.name!r:.120}, which is not a node"
                )
            if not tensor.dtype:
                tensor.dtype = nodes[name].attr["dtype"].type or nodes[name].attr["T"].type
            if ":" not in tensor.name:
                tensor.name += ":0"
    if not found.outputs:
        raise InvalidArgumentError(f"{where}: the model has no outputs")
    return found


def _plain_side(side: Any) -> dict[str, Any]:
    """The inputs or outputs that are tensors, without tables."""
    entries = side.items() if isinstance(side, dict) else ()
    return {
        _key(key): one for key, one in entries if isinstance(one, dict) and "resourceId" not in one
    }


def _add_ends(found: SignatureDef, graph: GraphDef) -> None:
    """Add placeholders as inputs, and nodes without users as outputs, if the signature has none."""
    if not found.inputs:
        for node in graph.node:
            if node.op.startswith("Placeholder") and node.attr["dtype"].type != RESOURCE:
                _add(found.inputs, node)
    if found.outputs:
        return
    taken = {text.lstrip("^").partition(":")[0] for node in graph.node for text in node.input}
    for node in graph.node:
        if node.name not in taken and node.op not in ("Const", "Placeholder", "NoOp"):
            _add(found.outputs, node)


def _key(name: str) -> str:
    return name.removesuffix(":0")


def _add(side: Any, node: NodeDef) -> None:
    tensor = side[node.name]
    tensor.name = f"{node.name}:0"
    tensor.dtype = node.attr["dtype"].type or node.attr["T"].type
    if "shape" in node.attr:
        tensor.tensor_shape.CopyFrom(node.attr["shape"].shape)
    else:
        tensor.tensor_shape.unknown_rank = True


def _whole_references(function: FunctionDef) -> None:
    """Rewrite `node:k` as `node:output:k`, the only form that a FunctionDef allows."""
    ops = {node.name: node.op for node in function.node_def}
    for node in function.node_def:
        for place, text in enumerate(node.input):
            node.input[place] = _whole(text, ops)
    for name in list(function.ret):
        function.ret[name] = _whole(function.ret[name], ops)


def _whole(text: str, ops: Mapping[str, str]) -> str:
    name, _, index = text.partition(":")
    if text.startswith("^") or name not in ops or not index.isdecimal():
        return text
    op = at_hand(ops[name])
    if op is None:
        return text
    place = int(index)
    if len(op.outputs) == 1 and op.outputs[0].is_list:
        return f"{name}:{op.outputs[0].name}:{place}"
    if place >= len(op.outputs) or any(arg.is_list for arg in op.outputs):
        return text
    return f"{name}:{op.outputs[place].name}:0"
