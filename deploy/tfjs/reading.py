"""Graph models of TensorFlow.js as functions: `model.json` and its shards become a GraphDef.

Nothing in the files is believed: sizes are compared with the files before memory is taken, and
names of files lead nowhere but into the folder.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.json_format import ParseDict, ParseError

from pinnace.deploy.tfjs.files.folder import MODEL_FILE
from pinnace.deploy.tfjs.files.weights import read_weights
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
_MOST_JSON = 1 << 29  # bytes of a model.json; graphs of large models have some megabytes
_MOST_WEIGHTS = (1 << 31) - (1 << 26)  # a GraphDef holds less than 2 GiB
_INITIALISER = "pinnace_initialiser"


def model_file(path: str | os.PathLike[str]) -> Path:
    """The `model.json` of a path that is it, or its folder.

    Raises:
        NotFoundError: there is none.
    """
    place = Path(path)
    found = place / MODEL_FILE if place.is_dir() else place
    if not found.is_file():
        raise NotFoundError(f"there is no model of TensorFlow.js at {place}: no {MODEL_FILE}")
    return found


def read_content(path: str | os.PathLike[str]) -> tuple[Path, dict[str, Any]]:
    """The file of a model, and what it says.

    Raises:
        NotFoundError: there is none.
        DataLossError: it is damaged.
        InvalidArgumentError: it is something else.
    """
    file = model_file(path)
    with explained("read", file), open_regular(file) as opened:
        data = opened.read(_MOST_JSON + 1)
    if len(data) > _MOST_JSON:
        raise InvalidArgumentError(
            f"{file} has more than {_MOST_JSON:,} bytes: it is no model.json"
        )
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DataLossError(f"{file} is damaged: it is no JSON: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("modelTopology"), dict):
        raise InvalidArgumentError(f"{file} is no model of TensorFlow.js: it has no modelTopology")
    return file, content


def kind_of(content: Mapping[str, Any]) -> str:
    """`GRAPH` or `LAYERS`: old files do not say it."""
    said = content.get("format")
    if said in (GRAPH, LAYERS):
        return str(said)
    return GRAPH if "node" in content["modelTopology"] else LAYERS


def load(path: str | os.PathLike[str]) -> ConcreteFunction:
    """A graph model of TensorFlow.js as a function, with its weights as constants.

    Args:
        path: `model.json`, or its folder.

    Returns:
        A concrete function, called with the inputs of the signature by name; its results are by
        name too. Dtypes are those of TensorFlow: what TensorFlow.js runs as int32 may be int64.

    Raises:
        NotFoundError: there is none.
        DataLossError: it is damaged.
        InvalidArgumentError: it is no graph model.
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
    """A graph model of TensorFlow.js as the folder of a SavedModel.

    Args:
        path: `model.json`, or its folder.
        folder: where; it is made.

    Raises:
        OpError: as for `load`.
    """
    file, content = read_content(path)
    message = SavedModel(saved_model_schema_version=1)
    message.meta_graphs.append(meta_graph(file, content))
    folder.mkdir(parents=True, exist_ok=True)
    layout.model_path(folder).write_bytes(message.SerializeToString(deterministic=True))


def meta_graph(file: Path, content: Mapping[str, Any]) -> MetaGraphDef:
    """The graph with its weights and its signature.

    Args:
        file: `model.json`.
        content: of it.
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
        raise UnimplementedError(f"{where} has 2 GiB of weights or more, which no GraphDef holds")
    _fill(graph, weights, where)
    for nodes in (graph.node, *(function.node_def for function in graph.library.function)):
        if len({node.name for node in nodes}) != len(nodes):
            raise InvalidArgumentError(f"{where}: two nodes of its graph have one name")
    meta = MetaGraphDef()
    signature = _signature(content, graph, where)
    _with_tables(content, graph, signature, meta, weights, where)
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
    """Put the weights into the constants."""
    for nodes in (graph.node, *(function.node_def for function in graph.library.function)):
        for node in nodes:
            if node.op != "Const":
                continue
            if node.name not in weights:
                if node.attr["value"].tensor.ByteSize() and _holds_values(node):
                    continue
                raise DataLossError(f"{where}: no weights for the constant {node.name!r}")
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
    """The weight in the dtype of the graph: TensorFlow.js has fewer."""
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
    """What is given and what is computed; without a signature, the ends of the graph."""
    told = content.get("userDefinedMetadata")
    given = content.get("signature")
    if isinstance(told, dict) and isinstance(told.get("signature"), dict):
        given = told["signature"]
    found = SignatureDef()
    if isinstance(given, dict):
        plain = {
            side: {
                _key(key): {name: one[name] for name in one if name != "resourceId"}
                for key, one in given.get(side, {}).items()
                if isinstance(one, dict) and "resourceId" not in one
            }
            for side in ("inputs", "outputs")
            if isinstance(given.get(side, {}), dict)
        }
        found = _parse(plain, found, f"{where}: signature")
    nodes = {node.name: node for node in graph.node}
    if not found.inputs:
        for node in graph.node:
            if node.op.startswith("Placeholder") and node.attr["dtype"].type != _RESOURCE:
                _add(found.inputs, node)
    if not found.outputs:
        taken = {text.lstrip("^").partition(":")[0] for node in graph.node for text in node.input}
        for node in graph.node:
            if node.name not in taken and node.op not in ("Const", "Placeholder", "NoOp"):
                _add(found.outputs, node)
    for side in (found.inputs, found.outputs):
        for key, tensor in side.items():
            name = tensor.name.partition(":")[0]
            if name not in nodes:
                raise InvalidArgumentError(
                    f"{where}: the signature's {key!r} is {tensor.name!r:.120}, which is no node"
                )
            if not tensor.dtype:
                tensor.dtype = nodes[name].attr["dtype"].type or nodes[name].attr["T"].type
            if ":" not in tensor.name:
                tensor.name += ":0"
    if not found.outputs:
        raise InvalidArgumentError(f"{where}: the model has no outputs")
    return found


_RESOURCE = dtypes.resource.enum


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


def _with_tables(
    content: Mapping[str, Any],
    graph: GraphDef,
    signature: SignatureDef,
    meta: MetaGraphDef,
    weights: Mapping[str, Array],
    where: str,
) -> None:
    """Take in the graph that fills the tables, and let loading run it.

    A table is a node of both graphs, by one name; or an input of the one and an output of the
    other, by one number.
    """
    given = content.get("modelInitializer")
    if not isinstance(given, dict) or not given.get("node"):
        return
    first = _parse(given, GraphDef(), f"{where}: modelInitializer")
    _fill(first, weights, where)
    own = content.get("signature")
    starts = content.get("initializerSignature")
    numbers: dict[str, str] = {}
    renamed: dict[str, str] = {}
    if isinstance(own, dict) and isinstance(starts, dict):
        for one in _entries(starts.get("outputs")):
            numbers[str(one["resourceId"])] = str(one.get("name", "")).partition(":")[0]
        for one in _entries(own.get("inputs")):
            made = numbers.get(str(one["resourceId"]))
            if made is None:
                raise InvalidArgumentError(f"{where}: no initialiser makes {one.get('name')!r:.80}")
            renamed[made] = str(one.get("name", "")).partition(":")[0]
    handles = _followed(first, renamed)
    taken = {node.name: node for node in graph.node}
    for placeholder in renamed.values():
        node = taken.pop(placeholder, None)
        if node is not None:
            graph.node.remove(node)
    names = dict(handles)
    for node in first.node:
        if node.name not in names:
            shared = node.op.startswith("HashTable") and node.name in taken
            names[node.name] = node.name if shared else f"{_INITIALISER}/{node.name}"
    fills = []
    for node in first.node:
        name = names[node.name]
        if name in taken:
            continue
        made_node = graph.node.add()
        made_node.CopyFrom(node)
        made_node.name = name
        for place, text in enumerate(made_node.input):
            mark = "^" if text.startswith("^") else ""
            start, colon, rest = text.removeprefix("^").partition(":")
            made_node.input[place] = f"{mark}{names.get(start, start)}{colon}{rest}"
        if node.op.startswith("HashTable") and not made_node.attr["shared_name"].s:
            made_node.attr["shared_name"].s = name.encode()
        if node.op.startswith(("LookupTableImport", "InitializeTable")):
            fills.append(name)
    for key in [key for key, one in signature.inputs.items() if one.dtype == _RESOURCE]:
        del signature.inputs[key]
    graph.node.add(name=_INITIALISER, op="NoOp", input=[f"^{name}" for name in fills])
    meta.collection_def[layout.INIT_COLLECTION].node_list.value.append(_INITIALISER)


def _followed(graph: GraphDef, renamed: Mapping[str, str]) -> dict[str, str]:
    """The tables behind outputs of the initialiser, by the name that the model has for them."""
    nodes = {node.name: node for node in graph.node}
    found = {}
    for made, wanted in renamed.items():
        name = made
        for _ in range(len(nodes)):
            node = nodes.get(name)
            if node is None or not node.op.startswith("Identity") or not node.input:
                break
            name = node.input[0].partition(":")[0]
        found[name] = wanted
    return found


def _entries(side: Any) -> Iterator[dict[str, Any]]:
    for one in side.values() if isinstance(side, dict) else ():
        if isinstance(one, dict) and "resourceId" in one:
            yield one


def _whole_references(function: FunctionDef) -> None:
    """`node:k` as `node:output:k`: TensorFlow.js understands both, a FunctionDef has the latter."""
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
